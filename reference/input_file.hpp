// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>

namespace shardmark::reference {

/// Returns the bytes of a whole file; absent where it cannot be read, as a folder cannot.
inline std::optional<std::string> file_text(const std::filesystem::path& file) {
  std::error_code unknown;
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file, unknown)) return std::nullopt;
  std::string text(std::istreambuf_iterator<char>(stream), {});
  if (stream.bad()) return std::nullopt;
  return text;
}

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::file_text;
}  // namespace shardmark
