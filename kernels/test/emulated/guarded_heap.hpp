// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

namespace shardmark::kernels::emulated {

/// Is where `new` takes its memory from in preset `emulated`: it is overwritten when it is freed, so that a copy that
/// is still queued copies nonsense. Where SHARDMARK_EMULATED_HEAP is set, kernels fault when they touch it.
struct GuardedHeap {
  static bool holds(const void* pointer) { return functions != nullptr && functions->holds(pointer); }
  static void close() {
    if (functions != nullptr) functions->protect(true);
  }
  static void open() {
    if (functions != nullptr) functions->protect(false);
  }

  struct Functions {
    bool (*holds)(const void*);
    void (*protect)(bool closed);
  };
  static inline const Functions* functions = nullptr;
};

}  // namespace shardmark::kernels::emulated
