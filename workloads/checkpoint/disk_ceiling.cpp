// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/disk_ceiling.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "reference/counter_random.hpp"
#include "reference/error.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::int64_t call_bytes = std::int64_t{1} << 20;
constexpr std::int64_t calls_to_write_back = 4;        // a round of a save
constexpr std::int64_t bytes_ahead = 16 * call_bytes;  // rounds that a restore has begun to read

/// Is an open file.
class Descriptor {
 public:
  Descriptor(std::string path, int flags)
      : path_(std::move(path)), file_(open(path_.c_str(), flags | O_CLOEXEC, 0600)) {
    require(file_ >= 0, "open");
  }
  ~Descriptor() { close(file_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return file_; }
  std::int64_t bytes() const {
    struct stat status = {};
    require(fstat(file_, &status) == 0, "read");
    return status.st_size;
  }
  void require(bool done, const char* what) const {
    if (!done) throw InputError(fmt::format("{}: cannot {}: {}", path_, what, std::strerror(errno)));
  }

 private:
  std::string path_;
  int file_;
};

/// Returns the bytes of all ranks and the seconds of the slowest for what `move` does, whose bytes it returns.
template <class Move>
FileTraffic timed(const comm::Communicator& comm, const Move& move) {
  comm::barrier(comm);
  const double begin = MPI_Wtime();
  const std::int64_t bytes = comm::agree(comm, move);
  return {comm::all_reduce(comm, bytes, comm::Reduce::sum),
          comm::all_reduce(comm, MPI_Wtime() - begin, comm::Reduce::max)};
}

}  // namespace

FileTraffic write_in_order(const comm::Communicator& comm, const std::string& folder, std::int64_t bytes) {
  std::vector<std::uint64_t> words(call_bytes / sizeof(std::uint64_t));
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = random_bits(1, i);  // no disk makes less of them
  const std::string path = fmt::format("{}/ceiling-{:05}.tmp", folder, comm.rank());
  std::optional<Descriptor> opened;  // outlives the time, for its bytes go when it is closed
  return timed(comm, [&] {
    const Descriptor& file = opened.emplace(path, O_WRONLY | O_CREAT | O_TRUNC);
    file.require(unlink(path.c_str()) == 0, "remove");
    std::int64_t calls = 0;
    for (std::int64_t done = 0; done < bytes;) {
      const auto some = static_cast<std::size_t>(std::min(bytes - done, call_bytes));
      const ssize_t written = write(file.get(), words.data(), some);
      file.require(written > 0, "write");
      done += written;
      if (++calls % calls_to_write_back == 0) sync_file_range(file.get(), 0, 0, SYNC_FILE_RANGE_WRITE);
    }
    file.require(fsync(file.get()) == 0 || errno == EINVAL, "write");
    return bytes;
  });
}

FileTraffic read_in_order(const comm::Communicator& comm, const std::vector<std::string>& files) {
  std::vector<std::byte> read(static_cast<std::size_t>(call_bytes));
  return timed(comm, [&] {
    std::int64_t own = 0;
    for (const std::string& path : files) {
      const Descriptor file(path, O_RDONLY);
      const std::int64_t bytes = file.bytes(), ranks = comm.size();
      const std::int64_t begin = bytes * comm.rank() / ranks, end = bytes * (comm.rank() + 1) / ranks;
      const auto begin_read = [&](std::int64_t at, std::int64_t count) {
        if (at < end) posix_fadvise(file.get(), at, std::min(count, end - at), POSIX_FADV_WILLNEED);
      };
      begin_read(begin, bytes_ahead);
      for (std::int64_t at = begin; at < end;) {
        begin_read(at + bytes_ahead, call_bytes);
        const ssize_t count =
            pread(file.get(), read.data(), static_cast<std::size_t>(std::min(end - at, call_bytes)), at);
        file.require(count > 0, "read");
        at += count;
        own += count;
      }
    }
    return own;
  });
}

double cached_share(const comm::Communicator& comm, const std::vector<std::string>& files) {
  const double share = comm::agree(comm, [&] {
    std::int64_t cached = 0, all = 0;
    for (const std::string& path : files) {
      const Descriptor file(path, O_RDONLY);
      const std::int64_t bytes = file.bytes(), page = sysconf(_SC_PAGESIZE);
      if (bytes == 0) continue;
      void* const mapped = mmap(nullptr, static_cast<std::size_t>(bytes), PROT_READ, MAP_SHARED, file.get(), 0);
      file.require(mapped != MAP_FAILED, "map");
      std::vector<unsigned char> pages(static_cast<std::size_t>((bytes + page - 1) / page));
      const bool known = mincore(mapped, static_cast<std::size_t>(bytes), pages.data()) == 0;
      munmap(mapped, static_cast<std::size_t>(bytes));
      file.require(known, "map");
      cached += std::ranges::count_if(pages, [](unsigned char of_page) { return (of_page & 1) != 0; });
      all += std::ssize(pages);
    }
    return all == 0 ? 1.0 : static_cast<double>(cached) / static_cast<double>(all);
  });
  return comm::all_reduce(comm, share, comm::Reduce::min);
}

void drop_cached(const comm::Communicator& comm, const std::vector<std::string>& files) {
  comm::agree(comm, [&] {
    for (const std::string& path : files) {
      const Descriptor file(path, O_RDONLY);
      posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED);
    }
  });
  comm::barrier(comm);
}

}  // namespace shardmark::workloads
