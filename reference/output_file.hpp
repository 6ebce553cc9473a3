// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace shardmark::reference {

/// Is told what comes next, "write", "sync" or "rename", so that a test can end a program there.
using FileSteps = std::function<void(std::string_view)>;

/// Is the file that a program writes under the name `target`. Usually that is a temporary file beside the target, which
/// commit() renames, so that a file of the final name is always whole: also after a crash of the machine, and when two
/// programs write it at once. Links are followed: the file that they lead to is replaced, or made. What exists and is
/// no regular file (/dev/null, a pipe, /dev/stdout) is not replaced but written to.
class OutputFile {
 public:
  /// Throws InputError when the target is a folder or has no name.
  explicit OutputFile(std::string target);
  ~OutputFile();  ///< removes the temporary file unless it has been renamed
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  const std::string& target() const { return target_; }  ///< as the user calls it, for messages
  const std::string& path() const { return path_; }      ///< where to write, from the beginning

  /// Brings the file to the disk and gives it its name; to be called once all is written and closed. Throws InputError.
  void commit(const FileSteps& before = {});

 private:
  std::string target_;
  std::string file_;  ///< behind the links; empty when the target is written to directly
  std::string path_;
  bool committed_ = false;
};

/// Makes a folder, unless it exists, and those above it, and brings the name of the last one to the disk. Throws
/// InputError.
void make_folder(const std::string& path);

/// Returns whether the path leads to a device, a pipe or an open file of a process, which is written to and not
/// replaced. Throws InputError when it leads to a folder.
bool is_written_directly(const std::string& path);

/// The rule of overwriting, the same for every command that writes a file which its user names. Throws InputError where
/// the path leads to a file that exists, unless `force` allows to replace it.
void require_new(const std::string& path, bool force);

/// Writes `text` through an OutputFile. Throws InputError.
void write_file(const std::string& path, std::string_view text, const FileSteps& before = {});

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::FileSteps, reference::make_folder, reference::OutputFile, reference::is_written_directly,
    reference::require_new, reference::write_file;
}  // namespace shardmark
