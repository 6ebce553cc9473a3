// SPDX-License-Identifier: Apache-2.0
#include "kernels/test/emulated/guarded_heap.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include "kernels/test/emulated/fibers.hpp"

namespace shardmark::kernels::emulated {
namespace {

constexpr std::size_t reserved_bytes = std::size_t{64} << 30, header_bytes = 64, chunk = std::size_t{2} << 20;

/// Gives blocks of 2^k bytes. A block begins with its k, as far before the pointer as the header says.
class Heap {
 public:
  static Heap& get() {
    static Heap* heap = new (storage_) Heap;
    return *heap;
  }

  void* allocate(std::size_t bytes, std::size_t alignment) {
    alignment = std::max(alignment, std::size_t{16});
    const std::size_t size = std::bit_ceil(bytes + header_bytes + alignment);
    const int k = std::countr_zero(size);
    char* block = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (free_[k] != nullptr) {
        block = free_[k];
        std::memcpy(&free_[k], block + header_bytes, sizeof(char*));
      } else {
        if (used_ + size > reserved_bytes) return nullptr;
        block = base_ + used_;
        used_ += size;
        if (used_ > open_) {
          open_ = (used_ + chunk - 1) / chunk * chunk;
          protect(false);
        }
      }
    }
    char* at = block + header_bytes;
    at += -reinterpret_cast<std::uintptr_t>(at) % alignment;
    const auto offset = static_cast<std::uint32_t>(at - block), number = static_cast<std::uint32_t>(k);
    std::memcpy(at - 8, &offset, sizeof offset);
    std::memcpy(at - 4, &number, sizeof number);
    return at;
  }
  void free(void* pointer) {
    char* at = static_cast<char*>(pointer);
    std::uint32_t offset = 0, k = 0;
    std::memcpy(&offset, at - 8, sizeof offset);
    std::memcpy(&k, at - 4, sizeof k);
    char* block = at - offset;
    const std::size_t size = std::size_t{1} << k;
    if (size > (std::size_t{1} << 20))
      madvise(block, size, MADV_DONTNEED);
    else
      std::memset(block, 0xfd, size);
    const std::lock_guard lock(mutex_);
    std::memcpy(block + header_bytes, &free_[k], sizeof(char*));
    free_[k] = block;
  }
  bool holds(const void* pointer) const { return pointer >= base_ && pointer < base_ + reserved_bytes; }
  /// Takes no lock, for a thread that holds it may wait until the heap is open. Does not close the heap under the stack
  /// of a task that runs kernels.
  void protect(bool closed) const {
    if (closed && holds(__builtin_frame_address(0))) return;
    if (mprotect(base_, open_, closed ? PROT_NONE : PROT_READ | PROT_WRITE) != 0)
      fail("mprotect of the heap has failed");
  }

 private:
  Heap() {
    void* addresses =
        mmap(nullptr, reserved_bytes + chunk, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (addresses == MAP_FAILED) fail("no addresses for the heap");
    base_ = static_cast<char*>(addresses) + -reinterpret_cast<std::uintptr_t>(addresses) % chunk;
    madvise(base_, reserved_bytes, MADV_HUGEPAGE);
    static const GuardedHeap::Functions functions{[](const void* pointer) { return get().holds(pointer); },
                                                  [](bool closed) { get().protect(closed); }};
    if (std::getenv("SHARDMARK_EMULATED_HEAP") != nullptr) GuardedHeap::functions = &functions;
  }

  alignas(64) static inline char storage_[1 << 12];
  std::mutex mutex_;
  char* base_ = nullptr;
  std::size_t used_ = 0, open_ = 0;
  char* free_[64] = {};
};

void* allocate_or_throw(std::size_t bytes, std::size_t alignment) {
  void* pointer = Heap::get().allocate(bytes, alignment);
  if (pointer == nullptr) throw std::bad_alloc();
  return pointer;
}

}  // namespace
}  // namespace shardmark::kernels::emulated

using namespace shardmark::kernels::emulated;

void* operator new(std::size_t bytes) { return allocate_or_throw(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocate_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept { return Heap::get().allocate(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return Heap::get().allocate(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* pointer) noexcept {
  if (pointer != nullptr) Heap::get().free(pointer);
}
void operator delete(void* pointer, std::size_t) noexcept { operator delete(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { operator delete(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { operator delete(pointer); }
