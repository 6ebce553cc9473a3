// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

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

TEST(HugePages, BackAnArrayThatAskedBeforeItsFirstTouch) {
  if (!system_has_huge_pages()) GTEST_SKIP() << "no transparent huge pages here";
  const auto bytes = uninitialised(64 << 20);
  advise_huge_pages(bytes);
  EXPECT_EQ(huge_page_share(bytes.data(), 64 << 20), 0);
  Kokkos::deep_copy(bytes, 1);
  EXPECT_GT(huge_page_share(bytes.data(), 64 << 20), 0.9);
  EXPECT_LT(huge_page_share(bytes.data(), 64 << 20), 1.0 + 1e-9);
}

TEST(HugePages, AreNotSoughtInArraysTooSmallForOne) {
  const auto bytes = uninitialised(1 << 20);
  advise_huge_pages(bytes);
  advise_huge_pages(static_cast<void*>(nullptr), 0);
  Kokkos::deep_copy(bytes, 1);
  EXPECT_LE(huge_page_share(bytes.data(), 1 << 20), 1);
  EXPECT_EQ(huge_page_share(bytes.data(), 0), 0);
}

}  // namespace
}  // namespace shardmark::kernels::test
