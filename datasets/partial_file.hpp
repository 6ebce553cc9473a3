// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace shardmark {

/// A file is written under `<target>.partial` and renamed to `target` by commit(), so that a file of the final name is
/// always whole. Without commit() the partial file is removed.
class PartialFile {
 public:
  explicit PartialFile(std::string target) : target_(std::move(target)), path_(target_ + ".partial") {}
  ~PartialFile();
  PartialFile(const PartialFile&) = delete;
  PartialFile& operator=(const PartialFile&) = delete;

  const std::string& target() const { return target_; }
  const std::string& path() const { return path_; }  ///< where to write
  void commit();                                     ///< throws InputError when the rename fails

 private:
  std::string target_;
  std::string path_;
  bool committed_ = false;
};

}  // namespace shardmark
