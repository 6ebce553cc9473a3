// SPDX-License-Identifier: Apache-2.0
#include "datasets/criteo_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "reference/number.hpp"

namespace shardmark::datasets {
namespace {

constexpr int max_integer_digits = 18;  // these and the one too many fit 64 bits without a check per digit
constexpr int max_hex_digits = 8;       // 32 bits
constexpr std::uint8_t not_hex = 0xff;

constexpr std::array<std::uint8_t, 256> make_hex_digits() {
  std::array<std::uint8_t, 256> digits{};
  digits.fill(not_hex);
  for (std::size_t d = 0; d < 10; ++d) digits['0' + d] = static_cast<std::uint8_t>(d);
  for (std::size_t d = 0; d < 6; ++d) digits['a' + d] = digits['A' + d] = static_cast<std::uint8_t>(10 + d);
  return digits;
}
constexpr auto hex_digits = make_hex_digits();

std::uint8_t hex_digit(char c) { return hex_digits[static_cast<unsigned char>(c)]; }
unsigned decimal_digit(char c) { return static_cast<unsigned char>(c) - static_cast<unsigned>('0'); }

/// Reads an optional minus and digits; `present` is false for an empty field. False when the field is not an integer;
/// what follows the digits is the caller's to check.
inline bool scan_integer(const char*& at, std::int64_t& value, bool& present) {
  const bool negative = *at == '-';
  const char* const first = at + (negative ? 1 : 0);
  const char* p = first;
  std::uint64_t magnitude = 0;
  for (unsigned digit = decimal_digit(*p); digit < 10 && p - first <= max_integer_digits; digit = decimal_digit(*++p))
    magnitude = magnitude * 10 + digit;
  const auto digits = p - first;
  at = p;
  value = static_cast<std::int64_t>(negative ? -magnitude : magnitude);
  present = digits > 0;
  return digits <= max_integer_digits && (present || !negative);
}

inline bool scan_hex(const char*& at, std::uint32_t& value, bool& present) {
  const char* p = at;
  std::uint32_t bits = 0;
  for (std::uint8_t digit = hex_digit(*p); digit != not_hex && p - at <= max_hex_digits; digit = hex_digit(*++p))
    bits = bits << 4 | digit;
  const auto digits = p - at;
  at = p;
  value = bits;
  present = digits > 0;
  return digits <= max_hex_digits;
}

/// Quotes a text: at most 40 characters of it, on one line.
std::string quoted(std::string_view field) {
  constexpr std::size_t limit = 40;
  std::string text(field.substr(0, limit));
  std::replace_if(
      text.begin(), text.end(), [](char c) { return c < ' ' || c > '~'; }, '?');
  return fmt::format("'{}{}'", text, field.size() > limit ? "..." : "");
}

std::string explain_field(std::string_view field, int index) {
  const std::string name = criteo_field_name(index);
  if (index < criteo_dense) {
    const std::string_view digits = field.substr(field.starts_with('-') ? 1 : 0);
    const bool integer =
        !digits.empty() && std::all_of(digits.begin(), digits.end(), [](char c) { return decimal_digit(c) < 10; });
    if (!integer) return fmt::format("{} {} is not an integer", name, quoted(field));
    return fmt::format("{} {} has more than {} digits", name, quoted(field), max_integer_digits);
  }
  if (!std::all_of(field.begin(), field.end(), [](char c) { return hex_digit(c) != not_hex; }))
    return fmt::format("{} {} is not hexadecimal", name, quoted(field));
  return fmt::format("{} {} is over 32 bits (more than {} hex digits)", name, quoted(field), max_hex_digits);
}

}  // namespace

bool parse_criteo_line(const char* begin, const char* end, CriteoForm form, CriteoLine& line) {
  const char separator = form.separator;
  const char* at = begin;
  line.label = 0;
  line.missing = 0;
  if (form.labelled) {
    if (end - begin < 2 || (at[0] != '0' && at[0] != '1') || at[1] != separator) return false;
    line.label = static_cast<std::uint8_t>(at[0] - '0');
    at += 2;
  }
  for (int i = 0; i < criteo_dense; ++i) {
    std::int64_t value = 0;
    bool present = false;
    if (!scan_integer(at, value, present) || *at != separator || at >= end) return false;
    ++at;
    line.dense[i] = static_cast<float>(value);
    line.missing |= static_cast<std::uint64_t>(!present) << i;
  }
  for (int c = 0; c < criteo_categories; ++c) {
    bool present = false;
    if (!scan_hex(at, line.categories[c], present)) return false;
    line.missing |= static_cast<std::uint64_t>(!present) << (criteo_dense + c);
    if (c == criteo_categories - 1) return at == end;
    if (*at != separator || at >= end) return false;
    ++at;
  }
  return false;
}

std::string explain_criteo_line(std::string_view text, CriteoForm form) {
  const auto fields = std::count(text.begin(), text.end(), form.separator) + 1;
  const auto expected = criteo_fields + (form.labelled ? 1 : 0);
  if (text.empty()) return "the line is empty";
  if (fields != expected)
    return fmt::format("expected {} fields separated by {}, found {}", expected,
                       form.separator == '\t' ? "tabs" : "commas", fields);

  std::size_t from = 0;
  for (int index = form.labelled ? -1 : 0; index < criteo_fields; ++index) {
    const std::string_view field = text.substr(from, text.find(form.separator, from) - from);
    from += field.size() + 1;
    if (index < 0) {
      if (field != "0" && field != "1") return fmt::format("label {} is not 0 or 1", quoted(field));
      continue;
    }
    const char* at = field.data();
    std::int64_t integer = 0;
    std::uint32_t hex = 0;
    bool present = false;
    const bool scanned = index < criteo_dense ? scan_integer(at, integer, present) : scan_hex(at, hex, present);
    if (!scanned || at != field.data() + field.size()) return explain_field(field, index);
  }
  return "malformed";
}

std::optional<CriteoForm> form_of_criteo_line(std::string_view text) {
  for (const char separator : {'\t', ','}) {
    const auto found = std::ranges::count(text, separator);
    if (found == criteo_fields || found == criteo_fields - 1) return CriteoForm{found == criteo_fields, separator};
  }
  return std::nullopt;
}

bool is_criteo_header(std::string_view text, CriteoForm form) {
  std::size_t from = 0;
  for (int index = form.labelled ? -1 : 0; index < criteo_dense; ++index) {
    const std::string_view field = text.substr(from, text.find(form.separator, from) - from);
    from += field.size() + 1;
    if (field.empty() || number_in<double>(field)) return false;
  }
  return true;
}

std::string criteo_field_name(int field) {
  return field < criteo_dense ? fmt::format("I{}", field + 1) : fmt::format("C{}", field - criteo_dense + 1);
}

}  // namespace shardmark::datasets
