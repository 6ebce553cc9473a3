// SPDX-License-Identifier: Apache-2.0
#include "datasets/npy.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <filesystem>
#include <fstream>
#include <optional>
#include <regex>

#include "reference/error.hpp"
#include "reference/number.hpp"

namespace shardmark::datasets {
namespace {

static_assert(std::endian::native == std::endian::little);

class NpyFile {
 public:
  explicit NpyFile(const std::string& path) : path_(path), file_(path, std::ios::binary) {
    if (!file_ || std::filesystem::is_directory(path)) fail("cannot be read");
  }

  /// Returns the text of the Python dictionary before the values.
  std::string header() {
    std::array<char, 8> magic{};
    read(magic.data(), 8);
    if (std::string_view(magic.data(), 6) != "\x93NUMPY") fail("is no file of numpy.save");
    const bool first_format = magic[6] == 1;  // its length has 16 bits, later ones have 32
    std::uint32_t length = 0;
    read(reinterpret_cast<char*>(&length), first_format ? 2 : 4);
    constexpr std::uint32_t most = 1U << 16;
    if (length > most) fail("its header is too long");
    std::string text(length, '\0');
    read(text.data(), length);
    return text;
  }

  template <class T>
  std::vector<float> values(std::int64_t count) {
    const auto begin = static_cast<std::int64_t>(file_.tellg());
    const auto size = static_cast<std::int64_t>(std::filesystem::file_size(path_));
    constexpr std::int64_t width = sizeof(T);
    if (count > (size - begin) / width) fail(fmt::format("ends after {} of {} values", (size - begin) / width, count));
    std::vector<T> raw(static_cast<std::size_t>(count));
    read(reinterpret_cast<char*>(raw.data()), count * width);
    std::vector<float> floats;
    floats.reserve(raw.size());
    for (const T value : raw) floats.push_back(static_cast<float>(value));
    return floats;
  }

  [[noreturn]] void fail(const std::string& what) const { throw InputError(fmt::format("{}: {}", path_, what)); }

 private:
  void read(char* bytes, std::int64_t count) {
    if (!file_.read(bytes, count)) fail("ends too early");
  }

  std::string path_;
  std::ifstream file_;
};

}  // namespace

Matrix read_npy(const std::string& path) {
  NpyFile file(path);
  const std::string header = file.header();
  const auto found = [&header](const char* expression) {
    std::smatch match;
    return std::regex_search(header, match, std::regex(expression)) ? std::optional(match) : std::nullopt;
  };
  const auto shape = found(R"('shape': *\(([0-9]+), *([0-9]+),?\))");
  const auto type = found("'descr': *'(<f[48])'");
  if (!shape || !type || !found("'fortran_order': *False"))
    file.fail("holds no matrix of float32 or float64 by rows: " + header.substr(0, header.find_last_not_of(" \n") + 1));
  const auto rows = number_in<std::int64_t>((*shape)[1].str()), columns = number_in<std::int64_t>((*shape)[2].str());
  std::int64_t count = 0;
  if (!rows || !columns || *rows < 1 || *columns < 1 || __builtin_mul_overflow(*rows, *columns, &count))
    file.fail("its shape is not that of a table: " + (*shape)[0].str());
  Matrix matrix{*rows, *columns, {}};
  matrix.values = (*type)[1].str() == "<f4" ? file.values<float>(count) : file.values<double>(count);
  return matrix;
}

}  // namespace shardmark::datasets
