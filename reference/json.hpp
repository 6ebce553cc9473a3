// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace shardmark::reference {

/// Reports why a text is not the JSON that this project reads.
class JsonError : public std::runtime_error {
 public:
  JsonError(const std::string& what, std::size_t byte) : std::runtime_error(what), byte_(byte) {}
  std::size_t byte() const { return byte_; }  ///< of the text, where it went wrong, counted from 1; 0: unknown

 private:
  std::size_t byte_;
};

/// Parses JSON that others may have written. Throws JsonError when it is not valid, an object has a key twice, a number
/// is out of range, or it is nested deeper than 32 levels (our files have 5; copying or printing without a limit could
/// exhaust the stack).
nlohmann::ordered_json parse_json(std::string_view text);

/// Does the same with an InputError that begins with `origin`, the name of the file.
nlohmann::ordered_json parse_json(std::string_view text, std::string_view origin);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::JsonError, reference::parse_json;
}  // namespace shardmark
