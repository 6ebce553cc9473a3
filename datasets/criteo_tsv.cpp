// SPDX-License-Identifier: Apache-2.0
#include "datasets/criteo_tsv.hpp"

#include <algorithm>
#include <cstring>

#include "datasets/criteo_line.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

constexpr std::size_t messages_kept = 10;

void resize(CriteoBlock& block, std::int64_t rows) {
  const auto n = static_cast<std::size_t>(rows);
  block.labels.resize(n);
  block.dense.resize(n * criteo_dense);
  for (auto& column : block.categories) column.resize(n);
  block.missing.resize(n);
}

}  // namespace

CriteoReader::CriteoReader(const std::string& path, CriteoReaderOptions options)
    : path_(path),
      options_(options),
      bytes_in_(open_bytes(path)),
      buffer_(static_cast<std::size_t>(options.buffer_bytes)) {}

bool CriteoReader::next(CriteoBlock& block) {
  resize(block, options_.block_rows);
  block.rows = 0;
  while (block.rows < options_.block_rows) {
    const char* const begin = buffer_.data() + begin_;
    const auto* end = static_cast<const char*>(std::memchr(begin, '\n', end_ - begin_));
    if (end == nullptr) {
      if (!fill()) break;
      continue;
    }
    begin_ = static_cast<std::size_t>(end + 1 - buffer_.data());
    ++line_;
    if (end > begin && end[-1] == '\r') --end;
    consume(begin, end, block);
  }
  resize(block, block.rows);
  return block.rows > 0;
}

void CriteoReader::consume(const char* begin, const char* end, CriteoBlock& block) {
  const std::string_view text(begin, static_cast<std::size_t>(end - begin));
  if (!form_known_) {
    const auto form = form_of_criteo_line(text);
    form_known_ = form.has_value();
    form_ = form.value_or(form_);
    header_ = form_known_ && line_ == 1 && is_criteo_header(text, form_);
    if (header_) return;
  }
  const auto row = static_cast<std::size_t>(block.rows);
  CriteoLine line;
  line.dense = block.dense.data() + row * criteo_dense;
  if (!parse_criteo_line(begin, end, form_, line)) return reject(explain_criteo_line(text, form_));
  block.labels[row] = line.label;
  block.missing[row] = line.missing;
  for (std::size_t c = 0; c < criteo_categories; ++c) block.categories[c][row] = line.categories[c];
  ++block.rows;
}

/// Reads more text behind the unread part. False when there is none. A last line without '\n' is given one.
bool CriteoReader::fill() {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  if (end_ == buffer_.size()) {
    discard_line();
    return true;
  }
  const std::size_t count = bytes_in_->read(std::span(buffer_).subspan(end_));
  bytes_ += static_cast<std::int64_t>(count);
  if (count == 0 && end_ == 0) return false;
  if (count == 0) buffer_[end_++] = '\n';
  end_ += count;
  return true;
}

/// Leaves out a line that fills the buffer, up to its '\n' or the end of the file.
void CriteoReader::discard_line() {
  ++line_;
  reject("the line is longer than " + std::to_string(buffer_.size()) + " bytes");
  const char* newline = nullptr;
  while (newline == nullptr && (end_ = bytes_in_->read(buffer_)) > 0) {
    bytes_ += static_cast<std::int64_t>(end_);
    newline = static_cast<const char*>(std::memchr(buffer_.data(), '\n', end_));
  }
  begin_ = newline == nullptr ? end_ : static_cast<std::size_t>(newline + 1 - buffer_.data());
}

void CriteoReader::reject(std::string what) {
  std::string message = path_ + ":" + std::to_string(line_) + ": " + std::move(what);
  if (options_.malformed == Malformed::stop) throw InputError(message + " (--malformed skip leaves such lines out)");
  ++malformed_;
  if (messages_.size() < messages_kept) messages_.push_back(std::move(message));
}

std::string CriteoReader::malformed_summary() const {
  if (malformed_ == 0) return {};
  std::string text =
      path_ + ": skipped " + std::to_string(malformed_) + " malformed of " + std::to_string(line_) + " lines";
  for (const std::string& message : messages_) text += "\n  " + message;
  if (malformed_ > std::ssize(messages_)) text += "\n  ...";
  return text;
}

}  // namespace shardmark::datasets
