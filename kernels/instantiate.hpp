// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Instantiates a function template that is not overloaded, without its parameters written out again. Only .cpp files
/// of kernels include this: a kernel is a template of its execution space, declared in its header and defined in its
/// .cpp file, which instantiates it for the space of this build (DefaultSpace in kernels/array.hpp):
///
///   SHARDMARK_INSTANCE(fill_rows<DefaultSpace>)
#define SHARDMARK_INSTANCE(...) template decltype(__VA_ARGS__) __VA_ARGS__;
