// SPDX-License-Identifier: Apache-2.0
#include "comm/placement/traffic/traffic_file.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <vector>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::placement {
namespace {

constexpr double most_traffic_bytes = 0x1p53;

std::int64_t parse_bytes(const std::string& word, const std::string& where) {
  const auto value = number_in<double>(word);
  if (!value || !(*value >= 0.0 && *value <= most_traffic_bytes))
    throw InputError(fmt::format("{}: '{}' is not a number of bytes from 0 to 2^53", where, word));
  return static_cast<std::int64_t>(*value);
}

struct Line {
  std::string where;
  std::vector<std::int64_t> bytes;
};

std::vector<Line> read_lines(std::istream& stream, const std::string& name) {
  std::vector<Line> lines;
  std::int64_t number = 0;
  for (std::string text; std::getline(stream, text);) {
    Line line{fmt::format("{}:{}", name, ++number), {}};
    std::istringstream words(text);
    for (std::string word; words >> word;) line.bytes.push_back(parse_bytes(word, line.where));
    if (!line.bytes.empty()) lines.push_back(std::move(line));
  }
  if (stream.bad()) throw InputError(fmt::format("cannot read {} beyond line {}", name, number));
  return lines;
}

}  // namespace

ByteMatrix read_traffic(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream || std::filesystem::is_directory(file))
    throw InputError(fmt::format("cannot read {}; name a traffic matrix", file.string()));
  return read_traffic(stream, file.string());
}

ByteMatrix read_traffic(std::istream& stream, const std::string& name) {
  const std::vector<Line> lines = read_lines(stream, name);
  if (lines.empty()) throw InputError(fmt::format("{} is empty; a traffic matrix has a line per rank", name));
  const int ranks = static_cast<int>(lines.size());
  ByteMatrix matrix(ranks);
  for (int from = 0; from < ranks; ++from) {
    const Line& line = lines[from];
    if (line.bytes.size() != lines.size())
      throw InputError(fmt::format("{}: {} numbers in a matrix of {} lines; it must be square", line.where,
                                   line.bytes.size(), lines.size()));
    for (int to = 0; to < ranks; ++to) matrix.set(from, to, line.bytes[to]);
  }
  return matrix;
}

std::string traffic_text(const ByteMatrix& matrix) {
  std::size_t width = 1;
  for (int from = 0; from < matrix.ranks(); ++from)
    for (int to = 0; to < matrix.ranks(); ++to) width = std::max(width, fmt::formatted_size("{}", matrix(from, to)));
  std::string text;
  for (int from = 0; from < matrix.ranks(); ++from)
    for (int to = 0; to < matrix.ranks(); ++to)
      text += fmt::format("{:>{}}{}", matrix(from, to), width, to + 1 < matrix.ranks() ? ' ' : '\n');
  return text;
}

}  // namespace shardmark::placement
