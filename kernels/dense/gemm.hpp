// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "kernels/dense/matrix_view.hpp"
#include "reference/dense/dense_math.hpp"

namespace shardmark::kernels {

// These are products of large matrices, by sgemm of the BLAS that was found (OpenBLAS). The thread that calls one
// computes it alone: the threads of a model take parts of its products (OpenBLAS is set to one thread once, for the
// whole program). On a GPU they are kernels of cuBLAS behind others on Kokkos's stream, in fp32 without TF32. The order
// of sums is the library's, the same for the same shape on the same processor or GPU. Throws std::invalid_argument for
// extents beyond 32-bit integers, std::runtime_error where cuBLAS fails.

/// Computes c = a b^T: a [m, k], b [n, k], c [m, n].
void product_transposed(ConstFloats a, ConstFloats b, Floats c, DenseMath math = DenseMath::fp32);
/// Computes c = a b, or c + a b: a [m, k], b [k, n], c [m, n].
void product(ConstFloats a, ConstFloats b, Floats c, bool add = false, DenseMath math = DenseMath::fp32);
/// Computes c = a^T b: a [k, m], b [k, n], c [m, n]; on a host by all threads, each a part of c.
void product_of_transposed(ConstFloats a, ConstFloats b, Floats c, DenseMath math = DenseMath::fp32);

/// Returns the name of the library of the host and of the processor whose kernels it has chosen, "OpenBLAS 0.3.21,
/// Cooperlake"; "unknown" for others.
std::string blas_name();

}  // namespace shardmark::kernels
