// SPDX-License-Identifier: Apache-2.0
#include "datasets/partial_file.hpp"

#include <filesystem>

#include "reference/error.hpp"

namespace shardmark {

PartialFile::~PartialFile() {
  std::error_code ignored;
  if (!committed_) std::filesystem::remove(path_, ignored);
}

void PartialFile::commit() {
  std::error_code error;
  std::filesystem::rename(path_, target_, error);
  if (error) throw InputError(target_ + ": cannot rename " + path_ + " to it: " + error.message());
  committed_ = true;
}

}  // namespace shardmark
