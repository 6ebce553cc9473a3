// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/sizes.hpp"

#include <fmt/format.h>

#include "reference/error.hpp"
#include "reference/number.hpp"
#include "reference/size.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::int64_t largest = std::int64_t{1} << 40;  // so that no sum over ranks overflows

[[noreturn]] void refuse(std::string_view text) {
  throw InputError(
      fmt::format("--bytes {}: expected a size or BEGIN:END[:FACTOR] such as 1KiB:16MiB:4, from 1 to 1024GiB, FACTOR 2 "
                  "or more; K, M and "
                  "G are powers of 1000",
                  text));
}

std::int64_t parse_count(std::string_view digits, std::string_view text) {
  const auto value = number_in<std::int64_t>(digits);
  if (!value || *value < 1 || *value > largest) refuse(text);
  return *value;
}

std::int64_t parse_size(std::string_view size, std::string_view text) {
  const auto bytes = bytes_in(size);
  if (!bytes || *bytes < 1 || *bytes > largest) refuse(text);
  return *bytes;
}

}  // namespace

std::vector<std::int64_t> parse_sizes(std::string_view text) {
  const auto first = text.find(':');
  const std::int64_t begin = parse_size(text.substr(0, first), text);
  if (first == std::string_view::npos) return {begin};
  const auto second = text.find(':', first + 1);
  const std::int64_t end = parse_size(text.substr(first + 1, second - first - 1), text);
  const std::int64_t factor = second == std::string_view::npos ? 2 : parse_count(text.substr(second + 1), text);
  if (end < begin || factor < 2) refuse(text);
  std::vector<std::int64_t> sizes{begin};
  while (sizes.back() <= end / factor) sizes.push_back(sizes.back() * factor);
  return sizes;
}

}  // namespace shardmark::workloads
