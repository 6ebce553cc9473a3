// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/nccl_transports.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <utility>

#include "comm/collectives.hpp"
#include "comm/exchange/nccl.hpp"
#include "reference/input_file.hpp"

namespace shardmark::comm {
namespace {

/// Is a new file of this process that NCCL writes its lines to.
class NcclLog {
 public:
  NcclLog() : path_(std::filesystem::temp_directory_path() / "shardmark-nccl-XXXXXX") {
    const int file = mkstemp(path_.data());
    if (file < 0) return;
    close(file);
    setenv("NCCL_DEBUG", "INFO", 1);
    setenv("NCCL_DEBUG_SUBSYS", "INIT,P2P,SHM,NET", 1);
    setenv("NCCL_DEBUG_FILE", path_.c_str(), 1);
  }
  NcclLog(const NcclLog&) = delete;
  NcclLog& operator=(const NcclLog&) = delete;
  ~NcclLog() {
    for (const char* name : {"NCCL_DEBUG", "NCCL_DEBUG_SUBSYS", "NCCL_DEBUG_FILE"}) unsetenv(name);
    std::error_code ignored;
    std::filesystem::remove(path_, ignored);
  }

  std::string text() const { return file_text(path_).value_or(""); }

 private:
  std::string path_;
};

/// Sends four bytes between all pairs of ranks.
void send_to_all(const Communicator& comm) {
  const auto ranks = static_cast<std::size_t>(comm.size());
  const Route route(std::vector<std::int64_t>(ranks, 1), std::vector<std::int64_t>(ranks, 1), comm.size());
  std::vector<std::int32_t> sent(ranks), received(ranks);
  Nccl nccl(comm);
  run(nccl, route, std::span<const std::int32_t>(sent), std::span(received));
}

}  // namespace

std::vector<NcclChannel> nccl_channels(std::string_view log) {
  static const std::regex line(R"(Channel \S+ : (\d+)\[\w+\] -> (\d+)\[\w+\]( \[send\])? via (\S+))"),
      device(R"(/\d+)");
  std::vector<NcclChannel> channels;
  const std::string text(log);
  for (auto found = std::sregex_iterator(text.begin(), text.end(), line); found != std::sregex_iterator(); ++found)
    channels.push_back(
        {std::stoi((*found)[1]), std::stoi((*found)[2]), std::regex_replace((*found)[4].str(), device, "")});
  std::ranges::sort(channels);
  const auto repeated = std::ranges::unique(channels);
  channels.erase(repeated.begin(), repeated.end());
  return channels;
}

std::vector<NcclTransport> nccl_transports(const Communicator& comm) {
  const bool writes_elsewhere = all_reduce(comm, std::getenv("NCCL_DEBUG") != nullptr ? 1 : 0, Reduce::max) > 0;
  if (writes_elsewhere || comm.size() == 1 || !Nccl::unusable(comm).empty()) return {};
  const NcclLog log;
  send_to_all(comm);
  std::map<std::pair<bool, std::string>, std::int64_t> pairs;
  for (const std::string& lines : all_gather(comm, log.text()))
    for (const NcclChannel& channel : nccl_channels(lines))
      if (channel.from < comm.size() && channel.to < comm.size() && channel.from != channel.to)
        ++pairs[{comm.node_of(channel.from) != comm.node_of(channel.to), channel.transport}];
  std::vector<NcclTransport> transports;
  for (const auto& [key, count] : pairs) transports.push_back({key.second, key.first, count});
  return transports;
}

}  // namespace shardmark::comm
