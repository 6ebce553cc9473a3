// SPDX-License-Identifier: Apache-2.0
#include "kernels/huge_pages.hpp"

#ifdef __linux__
#include <sys/mman.h>
#endif
#ifdef __GLIBC__
#include <malloc.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>

namespace shardmark::kernels {

void advise_huge_pages([[maybe_unused]] void* pointer, [[maybe_unused]] std::int64_t bytes) {
#ifdef MADV_HUGEPAGE
  if (bytes < static_cast<std::int64_t>(huge_page / 8)) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uintptr_t first = begin / huge_page * huge_page;
  const std::uintptr_t last = (begin + static_cast<std::uintptr_t>(bytes) + huge_page - 1) / huge_page * huge_page;
  madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);  // where nothing is mapped it does nothing
#endif
}

void keep_arrays_in_heap() {
#ifdef __GLIBC__
  constexpr int room = 1 << 30, growth = 64 << 20;
  mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the most that glibc allows
  mallopt(M_TRIM_THRESHOLD, room);
  mallopt(M_TOP_PAD, room);
  char* const piece = static_cast<char*>(std::malloc(growth / 4));  // more than the heap has, so that it grows
  const char* const end = static_cast<char*>(sbrk(0));
  if (std::less<>()(piece, end)) advise_huge_pages(piece, end - piece);  // else it could not, and the piece is mapped
  std::free(piece);
  mallopt(M_TOP_PAD, growth);
#endif
}

double huge_page_share(const void* pointer, std::int64_t bytes) {
  const auto begin = reinterpret_cast<std::uintptr_t>(pointer);
  const std::uintptr_t end = begin + static_cast<std::uintptr_t>(bytes);
  double covered = 0, present = 0, in_range = 0;
  std::ifstream smaps("/proc/self/smaps");
  for (std::string line; std::getline(smaps, line);) {
    unsigned long long first = 0, last = 0, kilobytes = 0;
    char name[32];
    if (std::sscanf(line.c_str(), "%llx-%llx ", &first, &last) == 2) {
      const std::uintptr_t low = std::max<std::uintptr_t>(begin, first), high = std::min<std::uintptr_t>(end, last);
      in_range = low < high ? static_cast<double>(high - low) / static_cast<double>(last - first) : 0;
    } else if (in_range > 0 && std::sscanf(line.c_str(), "%31[A-Za-z_]: %llu kB", name, &kilobytes) == 2) {
      const std::string_view field = name;
      const bool reserved = field == "Shared_Hugetlb" || field == "Private_Hugetlb";  // none of Rss
      if (reserved || field == "AnonHugePages") covered += in_range * static_cast<double>(kilobytes);
      if (reserved || field == "Rss") present += in_range * static_cast<double>(kilobytes);
    }
  }
  return present > 0 ? std::min(1.0, covered / present) : 0;
}

}  // namespace shardmark::kernels
