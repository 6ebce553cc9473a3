// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "datasets/byte_stream.hpp"
#include "datasets/criteo_line.hpp"

namespace shardmark::datasets {

enum class Malformed { stop, skip };

inline constexpr std::array malformed_choices{
    Choice<Malformed>{"stop", "stop at the first malformed line, naming file and line", Malformed::stop},
    Choice<Malformed>{"skip", "leave malformed lines out, count them and report the first ones", Malformed::skip},
};
constexpr auto choices_of(Malformed) { return Choices{"malformed lines", malformed_choices}; }

/// Holds some lines of a Criteo file in columns. An empty field has the value 0 and its bit in `missing`.
struct CriteoBlock {
  std::int64_t rows = 0;
  std::vector<std::uint8_t> labels;                                      ///< [rows], 0 or 1
  std::vector<float> dense;                                              ///< [rows, 13], exact up to 2^24
  std::array<std::vector<std::uint32_t>, criteo_categories> categories;  ///< [26][rows], the 32-bit hex values
  std::vector<std::uint64_t> missing;                                    ///< [rows], bit f = field f (I1..I13, C1..C26)

  bool is_missing(std::int64_t row, int field) const { return (missing[row] >> field & 1U) != 0; }
};

struct CriteoReaderOptions {
  Malformed malformed = Malformed::stop;
  std::int64_t block_rows = 8192;                     ///< rows per block at most
  std::int64_t buffer_bytes = std::int64_t{1} << 20;  ///< read at once; no line may be longer
};

/// Streams a Criteo TSV file (plain, .gz, .zst): label, 13 integers, 26 hexadecimal 32-bit values, separated by tabs;
/// fields may be empty, integers negative, lines may end in CRLF. A first line with commas in place of tabs says that
/// all lines have them. One of 39 fields says that the file has no label (the Kaggle test file): every label is then 0.
/// One of names is no sample.
class CriteoReader {
 public:
  /// Throws InputError when the file cannot be opened.
  explicit CriteoReader(const std::string& path, CriteoReaderOptions options = {});

  /// Reads the next rows; returns false at the end of the file. A malformed line throws InputError("file:line: what is
  /// wrong") or, with Malformed::skip, is counted.
  bool next(CriteoBlock& block);

  bool labelled() const { return form_.labelled; }                        ///< known after the first next()
  bool has_header() const { return header_; }                             ///< line 1 holds names; known as labelled()
  std::int64_t lines() const { return line_; }                            ///< lines read so far
  std::int64_t bytes() const { return bytes_; }                           ///< bytes of text read so far
  std::int64_t malformed() const { return malformed_; }                   ///< lines skipped so far
  const std::vector<std::string>& messages() const { return messages_; }  ///< of the first malformed lines (10)

  /// Returns a text for the log: what was skipped, and on lines of their own the first messages; empty when nothing
  /// was.
  std::string malformed_summary() const;

 private:
  bool fill();
  void discard_line();
  void consume(const char* begin, const char* end, CriteoBlock& block);
  void reject(std::string what);

  std::string path_;
  CriteoReaderOptions options_;
  std::unique_ptr<ByteReader> bytes_in_;
  std::vector<char> buffer_;
  std::size_t begin_ = 0;  ///< unread text is buffer_[begin_, end_)
  std::size_t end_ = 0;
  std::int64_t line_ = 0;
  std::int64_t bytes_ = 0;
  std::int64_t malformed_ = 0;
  std::vector<std::string> messages_;
  CriteoForm form_;  ///< of the first line of 39 or 40 fields
  bool form_known_ = false;
  bool header_ = false;
};

}  // namespace shardmark::datasets
