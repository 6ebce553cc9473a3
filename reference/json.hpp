// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace shardmark::reference {

/// Reports why a text is not the JSON that this project reads.
class JsonError : public std::runtime_error {
 public:
  JsonError(const std::string& what, std::size_t byte, std::string detail = {})
      : std::runtime_error(what), byte_(byte), detail_(std::move(detail)) {}
  std::size_t byte() const { return byte_; }  ///< of the text, where it went wrong, counted from 1; 0: unknown
  const std::string& detail() const { return detail_; }  ///< what the parser did not expect there; empty: unknown

 private:
  std::size_t byte_;
  std::string detail_;
};

/// Parses JSON that others may have written. Throws JsonError when it is not valid, an object has a key twice, a number
/// is out of range, or it is nested deeper than 32 levels (our files have 5; copying or printing without a limit could
/// exhaust the stack).
nlohmann::ordered_json parse_json(std::string_view text);

/// Does the same with an InputError that begins with "ORIGIN:LINE:COLUMN: "; origin: the name of the file.
nlohmann::ordered_json parse_json(std::string_view text, std::string_view origin);

/// Returns "LINE:COLUMN", both counted from 1, of a byte of a text, counted from 1.
std::string line_and_column(std::string_view text, std::size_t byte);

/// Returns the byte, counted from 1, of a valid JSON text where the key of a member or an element of a list begins that
/// `pointer` ("/tables/3/rows") names; 1 where there is none.
std::size_t byte_of(std::string_view text, const std::string& pointer);

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::JsonError, reference::byte_of, reference::line_and_column, reference::parse_json;
}  // namespace shardmark
