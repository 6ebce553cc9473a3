// SPDX-License-Identifier: Apache-2.0
#include "reference/json.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <optional>
#include <set>
#include <vector>

#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

using Json = nlohmann::ordered_json;
using Event = Json::parse_event_t;
constexpr int deepest = 32;

/// Is a place in a text; it counts the letters that the parser has read.
class Letter {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Letter(const char* at, std::size_t* read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Letter& operator++() {
    ++at_;
    ++*read_;
    return *this;
  }
  Letter operator++(int) {
    const Letter before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Letter& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* read_;
};

/// Parses the text; `read` is the number of its bytes so far whenever `visit` is called.
Json parse(std::string_view text, std::size_t& read, const Json::parser_callback_t& visit) {
  return Json::parse(Letter(text.data(), &read), Letter(text.data() + text.size(), &read), visit);
}

/// Returns what the parser says behind "...column 3: syntax error while ".
std::string detail_of(const std::string& what) {
  const std::string_view before = "syntax error while ";
  const auto begin = what.find(before);
  return begin == what.npos ? "" : what.substr(begin + before.size());
}

Json parse_counted(std::string_view text, std::size_t& read) {
  std::vector<std::set<std::string>> open_objects;  // their keys so far
  const auto refuse = [&](int depth, Event event, const Json& value) {
    const bool opens = event == Event::object_start || event == Event::array_start;
    if (opens && depth >= deepest) throw JsonError("JSON nested deeper than " + std::to_string(deepest) + " levels", 0);
    if (event == Event::object_start) open_objects.emplace_back();
    if (event == Event::object_end) open_objects.pop_back();
    if (event == Event::key && !open_objects.back().insert(value.get<std::string>()).second)
      throw JsonError("key " + value.dump() + " comes twice in one object", 0);
    return true;
  };
  try {
    return parse(text, read, refuse);
  } catch (const Json::parse_error& error) {
    throw JsonError("not valid JSON", error.byte, detail_of(error.what()));
  } catch (const Json::exception&) {
    throw JsonError("a number is out of range", 0);
  }
}

}  // namespace

Json parse_json(std::string_view text) {
  std::size_t read = 0;
  return parse_counted(text, read);
}

Json parse_json(std::string_view text, std::string_view origin) {
  std::size_t read = 0;
  try {
    return parse_counted(text, read);
  } catch (const JsonError& error) {
    throw InputError(std::string(origin) + ":" + line_and_column(text, error.byte() > 0 ? error.byte() : read) + ": " +
                     error.what() + (error.detail().empty() ? "" : ": " + error.detail()));
  }
}

std::string line_and_column(std::string_view text, std::size_t byte) {
  const std::string_view before = text.substr(0, std::max<std::size_t>(byte, 1) - 1);
  const auto line = 1 + std::ranges::count(before, '\n');
  return std::to_string(line) + ":" + std::to_string(before.size() - (before.rfind('\n') + 1) + 1);
}

std::size_t byte_of(std::string_view text, const std::string& pointer) {
  const Json::json_pointer wanted(pointer);
  Json::json_pointer here;                       // of what is being read
  std::vector<std::optional<std::size_t>> open;  // the next element of each open list; nothing for an object
  std::size_t read = 0, found = 1;
  const auto name = [&](const std::string& key) {
    here.pop_back();
    here.push_back(key);
  };
  const auto visit = [&](int, Event event, const Json& value) {
    if (event == Event::object_end || event == Event::array_end) {
      open.pop_back();
      here.pop_back();
      return true;
    }
    if (event == Event::key) {
      name(value.get<std::string>());
      if (here == wanted) found = text.rfind('"', read - 2) + 1;
      return true;
    }
    if (!open.empty() && open.back()) {
      name(std::to_string((*open.back())++));
      if (here == wanted) found = read;
    }
    if (event == Event::value) return true;
    open.push_back(event == Event::array_start ? std::optional<std::size_t>(0) : std::nullopt);
    here.push_back("");
    return true;
  };
  parse(text, read, visit);
  return found;
}

}  // namespace shardmark::reference
