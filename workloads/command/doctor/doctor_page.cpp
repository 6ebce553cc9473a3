// SPDX-License-Identifier: Apache-2.0
#include "workloads/command/doctor/doctor_page.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/command/doctor/findings.hpp"

namespace shardmark::workloads {
namespace {

constexpr std::size_t width = 120;
constexpr std::size_t most_places = 4;  // of ranks, a line each

/// `text` in lines of at most `width`, broken at spaces; the first begins with `label`, the others as far to the right.
std::string paragraph(const std::string& label, std::string_view text, std::size_t indent = 12) {
  std::string lines, line = fmt::format("{:<{}}", label, indent);
  bool empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!empty && line.size() + 1 + word.size() > width) {
      lines += line + "\n";
      line = std::string(indent, ' ');
      empty = true;
    }
    line += (empty ? "" : " ") + std::string(word);
    empty = false;
  }
  return lines + line + "\n";
}

std::string known(const std::string& text) { return text.empty() ? "unknown" : text; }
double gigabytes(std::int64_t bytes) { return 1e-9 * static_cast<double>(bytes); }

std::string counted(std::int64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

std::string machine_text(const MachineFacts& machine) {
  const std::string smt = machine.smt ? (*machine.smt ? "on" : "off") : "unknown";
  const std::string quota =
      machine.cpu_quota > 0.0 ? fmt::format("limited to {:.1f} processors", machine.cpu_quota) : "not limited";
  return fmt::format("{}, {}, {} (SMT {}), {}, governor {}, CPU time {}, load {:.1f}, Linux {}", known(machine.cpu),
                     counted(machine.cores, "core"), counted(machine.logical_cpus, "processor"), smt,
                     counted(machine.numa_nodes, "NUMA node"), known(machine.governor), quota, machine.load,
                     known(machine.kernel));
}

std::string memory_text(const Facts& facts) {
  return fmt::format("{:.1f} of {:.1f} GB available; huge pages: {}, {:.0f} % obtained for a trial of {} MB per rank",
                     gigabytes(facts.machine.memory_available), gigabytes(facts.machine.memory),
                     known(facts.machine.transparent_huge_pages), 100 * facts.ceilings.huge_page_share,
                     facts.ceilings.table_bytes >> 20);
}

bool alike(const RankFacts& a, const RankFacts& b) {
  return a.node == b.node && a.cpus == b.cpus && a.threads == b.threads;
}

/// Of the ranks [first, end), which are alike.
std::string place_text(std::int64_t first, std::int64_t end, const RankFacts& rank) {
  const std::string who =
      end - first == 1 ? fmt::format("rank {}", first) : fmt::format("ranks {} to {} each", first, end - 1);
  return fmt::format("{} on {}: processors {} ({}), {}", who, rank.host, rank.cpus,
                     counted(std::ssize(rank.cores), "core"), counted(rank.threads, "thread"));
}

std::string ranks_text(const Facts& facts) {
  const CoreUse use = core_use(facts);
  const std::int64_t nodes = std::ranges::max(facts.ranks, {}, &RankFacts::node).node + 1;
  std::string text = fmt::format("{} on {}; on {}: {} of {} on {} of {}", facts.ranks.size(), counted(nodes, "node"),
                                 facts.ranks.front().host, counted(use.threads, "thread"), counted(use.ranks, "rank"),
                                 use.cores, counted(facts.machine.cores, "core"));
  if (use.shared > 0) text += fmt::format("; {} of these cores are shared by several ranks", use.shared);
  std::string page = paragraph("ranks", text);
  std::size_t places = 0;
  for (auto first = facts.ranks.begin(); first != facts.ranks.end();) {
    const auto last =
        std::find_if_not(first, facts.ranks.end(), [&](const RankFacts& rank) { return alike(rank, *first); });
    const std::string place = place_text(first - facts.ranks.begin(), last - facts.ranks.begin(), *first);
    if (places++ < most_places) page += paragraph("", place);
    first = last;
  }
  if (places > most_places) page += paragraph("", fmt::format("... and at {} places more", places - most_places));
  return page;
}

std::string mpi_text(const Facts& facts) {
  const MpiFacts& mpi = facts.mpi;
  std::string text = mpi.library;
  if (!mpi.components.empty()) text += fmt::format("; opened: {}", fmt::join(mpi.components, ", "));
  if (!mpi.settings.empty()) text += fmt::format("; set: {}", fmt::join(mpi.settings, ", "));
  if (mpi.yields) text += fmt::format("; {} while it waits", *mpi.yields ? "yields the core" : "keeps the core");
  if (mpi.reads_neighbours) {
    text += fmt::format("; ranks of a node {} read each other's memory", *mpi.reads_neighbours ? "can" : "cannot");
    if (!mpi.copies.empty()) text += fmt::format(" (single copy: {})", mpi.copies);
  }
  return text + fmt::format("; fabric: {}",
                            mpi.fabrics.empty() ? "none but TCP" : fmt::format("{}", fmt::join(mpi.fabrics, ", ")));
}

std::string gpu_text(const Facts& facts) {
  std::string text = facts.build.cuda ? "built with CUDA" : "built without CUDA";
  text += "; " + counted(facts.build.cuda ? std::ssize(facts.gpu.names) : facts.machine.gpu_devices, "GPU");
  if (!facts.gpu.names.empty()) text += fmt::format(" ({})", facts.gpu.names.front());
  if (const auto& own = facts.gpu.own)
    text += fmt::format(" of {:.1f} GiB ({:.1f} left), {} {} MHz, driver of CUDA {}",
                        static_cast<double>(own->memory_bytes) * 0x1p-30, static_cast<double>(facts.gpu.free) * 0x1p-30,
                        facts.gpu.clock ? fmt::format("{} of", facts.gpu.clock->mhz) : "at most", own->clock_mhz,
                        own->driver);
  if (facts.gpu.mps) text += ", MPS runs";
  if (!facts.gpu.nccl.empty()) text += fmt::format("; NCCL {}", facts.gpu.nccl);
  if (!facts.gpu.settings.empty()) text += fmt::format(", set: {}", fmt::join(facts.gpu.settings, ", "));
  if (!facts.gpu.nccl_unusable.empty()) return text + fmt::format("; no exchange nccl: {}", facts.gpu.nccl_unusable);
  text += "; exchange nccl can be used";
  std::string_view before = ": ";
  for (const comm::NcclTransport& each : facts.gpu.transports)
    text += fmt::format("{}{} {} ({} pairs of ranks)", std::exchange(before, ", "), each.name,
                        each.between_nodes ? "between nodes" : "in a node", each.pairs);
  return text;
}

std::string link_text(std::string_view name, const CeilingFacts::Link& link) {
  return fmt::format("ping-pong {}: {:.2f} us, {:.2f} GB/s", name, 1e6 * link.latency, 1e-9 * link.bandwidth);
}

std::string ceilings_text(const Facts& facts) {
  const CeilingFacts& ceilings = facts.ceilings;
  std::string page =
      paragraph("ceilings",
                fmt::format("stream triad {:.2f} GB/s, random rows of 64 floats {:.2f} GB/s, per rank with all at work",
                            1e-9 * ceilings.triad, 1e-9 * ceilings.gather));
  std::string links;
  if (ceilings.inside) links = link_text("inside a node", *ceilings.inside);
  if (ceilings.between) links += (links.empty() ? "" : "; ") + link_text("between nodes", *ceilings.between);
  if (ceilings.all_to_all)
    links += fmt::format("; all-to-all of {} KB per rank: {:.0f} us, {:.2f} GB/s", ceilings.all_to_all_bytes >> 10,
                         1e6 * *ceilings.all_to_all,
                         1e-9 * static_cast<double>(ceilings.all_to_all_bytes) / *ceilings.all_to_all);
  return page + paragraph("", links.empty() ? "links need two ranks: mpiexec -n 2 shardmark doctor" : links);
}

}  // namespace

std::string doctor_page(const Facts& facts) {
  const BuildFacts& build = facts.build;
  std::string page =
      paragraph("shardmark", fmt::format("{}, commit {}{}, {} build by {}, {}, vectors {}", build.version,
                                         known(build.commit), build.dirty ? " + changes" : "", known(build.type),
                                         build.compiler, known(build.flags), build.vectors));
  page += paragraph("machine", machine_text(facts.machine));
  page += paragraph("memory", memory_text(facts));
  page += ranks_text(facts);
  page += paragraph("MPI", mpi_text(facts));
  page += paragraph("GPU", gpu_text(facts));
  page += ceilings_text(facts);
  const auto found = findings(facts);
  page +=
      found.empty() ? "\nNothing to change was found.\n" : "\nWhat to change to be faster, and to trust the times:\n";
  for (std::size_t i = 0; i < found.size(); ++i) page += paragraph(fmt::format("{:>3}.", i + 1), found[i], 5);
  return page;
}

}  // namespace shardmark::workloads
