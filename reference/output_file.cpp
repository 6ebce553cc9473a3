// SPDX-License-Identifier: Apache-2.0
#include "reference/output_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& what, int error) {
  throw InputError(path + ": cannot " + what + ": " + std::strerror(error));
}

/// Returns the file that is to be replaced or made, behind all links; empty when the target is to be written to
/// directly.
std::string behind_links(const std::string& target) {
  constexpr int most_links = 40;  // as Linux
  std::error_code ignored;
  const fs::file_status status = fs::status(target, ignored);
  if (fs::is_directory(status)) throw InputError(target + ": is a folder; name a file to write");
  if (fs::exists(status) && !fs::is_regular_file(status)) return "";
  fs::path file = target;
  for (int links = 0; fs::is_symlink(fs::symlink_status(file, ignored)); ++links) {
    if (links == most_links) throw InputError(target + ": leads through too many links");
    const fs::path next = fs::read_symlink(file, ignored);
    // An open file of a process, as /dev/stdout is: who opened it goes on writing to it, whatever has its name.
    if (file.string().starts_with("/proc/")) return "";
    file = next.is_absolute() ? next : file.parent_path() / next;
  }
  return file.string();
}

/// Brings what has been written to the disk. File systems without such a thing (EINVAL) have done what they can.
void sync(const std::string& path, const std::string& target) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(target, "write", errno);
  const int error = fsync(file) == 0 ? 0 : errno;
  close(file);
  if (error != 0 && error != EINVAL) fail(target, "write", error);
}

}  // namespace

OutputFile::OutputFile(std::string target) : target_(std::move(target)), file_(behind_links(target_)), path_(target_) {
  if (target_.empty() || target_.ends_with('/')) throw InputError("'" + target_ + "': no name of a file to write");
  if (!file_.empty()) path_ = file_ + '.' + std::to_string(getpid()) + ".tmp";
}

OutputFile::~OutputFile() {
  std::error_code ignored;
  if (!committed_ && !file_.empty()) fs::remove(path_, ignored);
}

void OutputFile::commit(const FileSteps& before) {
  if (file_.empty()) return;
  const auto enter = [&](const char* what) {
    if (before) before(what);
  };
  enter("sync");
  sync(path_, target_);
  enter("rename");
  if (std::rename(path_.c_str(), file_.c_str()) != 0) fail(target_, "rename " + path_ + " to it", errno);
  committed_ = true;
  enter("sync");
  const fs::path folder = fs::path(file_).parent_path();
  sync(folder.empty() ? "." : folder.string(), target_);
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) fail(path, "make this folder", error.value());
  const fs::path above = fs::absolute(path).lexically_normal().parent_path();
  sync(above.string(), path);
}

bool is_written_directly(const std::string& path) { return behind_links(path).empty(); }

void require_new(const std::string& path, bool force) {
  std::error_code ignored;
  if (!force && fs::exists(path, ignored) && !is_written_directly(path))
    throw InputError(path + ": exists already; name another file, or --force to replace it");
}

void write_file(const std::string& path, std::string_view text, const FileSteps& before) {
  OutputFile output(path);
  std::FILE* const file = std::fopen(output.path().c_str(), "wb");
  if (file == nullptr) fail(path, "write this file", errno);
  if (before) before("write");
  const bool written = std::fwrite(text.data(), 1, text.size(), file) == text.size();
  const int error = errno;
  if (std::fclose(file) != 0 || !written) fail(path, "write this file", written ? errno : error);
  output.commit(before);
}

}  // namespace shardmark::reference
