// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstdlib>
#include <cstring>
#include <fstream>

#include "kernels/array.hpp"
#include "kernels/huge_pages.hpp"

namespace shardmark::kernels::test {
namespace {

using Bytes = Array<Kokkos::DefaultHostExecutionSpace, char>;

Bytes uninitialised(std::size_t bytes) {
  return Bytes(Kokkos::view_alloc("bytes", Kokkos::WithoutInitializing), bytes);
}

/// Whether the system gives transparent huge pages to those who ask.
bool system_has_huge_pages() {
  std::string choice;
  std::getline(std::ifstream("/sys/kernel/mm/transparent_hugepage/enabled"), choice);
  return choice.find("[madvise]") != std::string::npos || choice.find("[always]") != std::string::npos;
}

/// Untouched memory between pages that nobody may touch, so that it is a mapping of its own, which smaps counts alone.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : bytes_(bytes) {
    base_ = mmap(nullptr, bytes + 2 * huge_page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(data(), bytes, PROT_READ | PROT_WRITE);
  }
  ~Guarded() { munmap(base_, bytes_ + 2 * huge_page); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  char* data() const { return static_cast<char*>(base_) + huge_page; }

 private:
  std::size_t bytes_;
  void* base_;
};

TEST(HugePages, BackMemoryThatAskedBeforeItsFirstTouch) {
  if (!system_has_huge_pages()) GTEST_SKIP() << "no transparent huge pages here";
  constexpr std::int64_t bytes = 64 << 20;
  const Guarded memory(bytes);
  advise_huge_pages(memory.data(), bytes);
  EXPECT_EQ(huge_page_share(memory.data(), bytes), 0);
  std::memset(memory.data(), 1, bytes / 2);
  EXPECT_GT(huge_page_share(memory.data(), bytes), 0.5) << "of what was touched";
  std::memset(memory.data() + bytes / 2, 1, bytes / 2);
  const double share = huge_page_share(memory.data(), bytes);
  EXPECT_GT(share, 0.5) << "unless memory is too scattered for huge pages";
  EXPECT_LT(share, 1.0 + 1e-9);
}

TEST(HugePages, HoldLargeArraysFromTheirFirstByteOn) {
  if (!system_has_huge_pages()) GTEST_SKIP() << "no transparent huge pages here";
  constexpr std::int64_t bytes = (5 << 20) + 64;
  const auto array = allocate<Kokkos::DefaultHostExecutionSpace, float>("floats", bytes / 4);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % huge_page, 0U);
  const auto small = allocate<Kokkos::DefaultHostExecutionSpace, float>("floats", 1000);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(small.data()) % line_pair, 0U);
}

/// Returns the share of huge pages in arrays of a few MiB, of a program that keeps them in the heap.
double share_in_heap() {
  keep_arrays_in_heap();
  constexpr std::int64_t bytes = (3 << 20) + 1234 * 4;
  std::vector<Array<Kokkos::DefaultHostExecutionSpace, float>> arrays;
  double share = 0.0;
  for (int i = 0; i < 16; ++i) {
    arrays.push_back(allocate<Kokkos::DefaultHostExecutionSpace, float>("floats", bytes / 4));
    Kokkos::deep_copy(arrays.back(), 1.0F);
  }
  for (const auto& array : arrays) share += huge_page_share(array) / 16;
  return share;
}

/// In a process of its own, whose heap nothing has touched.
TEST(HugePages, HoldArraysOfTheHeapAtBothEnds) {
  if (!system_has_huge_pages()) GTEST_SKIP() << "no transparent huge pages here";
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer has a heap of its own";
#endif
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(share_in_heap() > 0.75 ? 0 : 1), testing::ExitedWithCode(0), "")
      << "unless memory is too scattered for huge pages";
}

TEST(HugePages, AreNotSoughtInArraysTooSmallForOne) {
  const auto bytes = uninitialised(1 << 20);
  advise_huge_pages(bytes);
  advise_huge_pages(static_cast<void*>(nullptr), 0);
  Kokkos::deep_copy(bytes, 1);
  EXPECT_LE(huge_page_share(bytes.data(), 1 << 20), 1);
  EXPECT_EQ(huge_page_share(bytes.data(), 0), 0);
}

TEST(Allocate, GivesArraysThatBeginWithTheFirstOfAPairOfCacheLines) {
  for (const std::int64_t size : {0, 1, 1000, 1 << 20, (1 << 20) + 1}) {
    const auto array = allocate<Kokkos::DefaultHostExecutionSpace, float>("array", size);
    EXPECT_EQ(array.extent(0), static_cast<std::size_t>(size));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(array.data()) % line_pair, 0) << size;
    Kokkos::deep_copy(array, 1.0F);
  }
}

}  // namespace
}  // namespace shardmark::kernels::test
