// SPDX-License-Identifier: Apache-2.0
#include "comm/exchange/calibration.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>

#include "comm/exchange/named_exchange.hpp"
#include "comm/mpi_error.hpp"
#include "reference/error.hpp"

namespace shardmark {
namespace {

using Json = nlohmann::ordered_json;

constexpr double good_enough = 0.95;  // of MPI_Alltoallv's time
constexpr double beyond = 4.0;        // times the largest measured size

/// MPI's key under which a communicator keeps its calibration.
int key() {
  static const int made = [] {
    int keyval = MPI_KEYVAL_INVALID;
    const auto drop = [](MPI_Comm, int, void* value, void*) {
      delete static_cast<Calibration*>(value);
      return MPI_SUCCESS;
    };
    check_mpi(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop, &keyval, nullptr), "MPI_Comm_create_keyval");
    return keyval;
  }();
  return made;
}

void keep(const Communicator& comm, std::unique_ptr<Calibration> calibration) {
  check_mpi(MPI_Comm_set_attr(comm.get(), key(), calibration.get()), "MPI_Comm_set_attr");
  calibration.release();
}

}  // namespace

std::optional<std::size_t> Calibration::best(double bytes, bool skewed, const std::vector<bool>& allowed) const {
  const Cell* below = nullptr;
  const Cell* above = nullptr;
  for (const Cell& cell : cells) {
    if (cell.skewed != skewed) continue;
    const auto size = static_cast<double>(cell.bytes);
    if (size <= bytes && (below == nullptr || cell.bytes > below->bytes)) below = &cell;
    if (size >= bytes && (above == nullptr || cell.bytes < above->bytes)) above = &cell;
  }
  if (above == nullptr && (below == nullptr || bytes > beyond * static_cast<double>(below->bytes))) return std::nullopt;
  if (above == nullptr) above = below;
  if (below == nullptr) below = above;
  std::optional<std::size_t> best;
  double least = good_enough;
  for (std::size_t e = 0; e < exchanges.size(); ++e) {
    const double ratio = std::max(below->ratios[e], above->ratios[e]);
    if (!allowed[e] || ratio >= least) continue;
    least = ratio;
    best = e;
  }
  return best;
}

std::string to_json_text(const Calibration& calibration) {
  Json cells = Json::array();
  for (const auto& cell : calibration.cells) {
    Json ratios;
    for (std::size_t e = 0; e < calibration.exchanges.size(); ++e)
      ratios[calibration.exchanges[e]] = std::round(cell.ratios[e] * 1e4) / 1e4;
    cells.push_back({{"bytes_per_pair", cell.bytes}, {"skewed", cell.skewed}, {"vs_mpi_alltoallv", ratios}});
  }
  return Json{{"ranks", calibration.ranks}, {"nodes", calibration.nodes}, {"cells", cells}}.dump(2) + "\n";
}

Calibration calibration_from_json(std::string_view text) {
  Calibration calibration;
  try {
    const Json json = Json::parse(text);
    calibration.ranks = json.at("ranks").get<int>();
    calibration.nodes = json.at("nodes").get<int>();
    for (const Json& each : json.at("cells")) {
      Calibration::Cell cell{each.at("bytes_per_pair").get<std::int64_t>(), each.at("skewed").get<bool>(), {}};
      std::vector<std::string> names;
      for (const auto& [name, ratio] : each.at("vs_mpi_alltoallv").items()) {
        names.push_back(exchange_named(name).name());
        cell.ratios.push_back(ratio.get<double>());
      }
      if (calibration.cells.empty()) calibration.exchanges = names;
      if (names != calibration.exchanges) throw InputError("calibration: its cells name different exchanges");
      calibration.cells.push_back(std::move(cell));
    }
  } catch (const Json::exception& error) {
    throw InputError(fmt::format("calibration: {}", error.what()));
  }
  return calibration;
}

void write_calibration(const std::string& file, const Calibration& calibration) {
  std::ofstream stream(file);
  if (!(stream << to_json_text(calibration) << std::flush)) throw InputError(file + ": cannot be written");
}

Calibration read_calibration(const std::string& file) {
  std::ifstream stream(file);
  if (!stream) throw InputError(file + ": cannot be read");
  const std::string text(std::istreambuf_iterator<char>(stream), {});
  try {
    return calibration_from_json(text);
  } catch (const InputError& error) {
    throw InputError(file + ": " + error.what());
  }
}

const Calibration& calibration_of(const Communicator& comm) {
  void* found = nullptr;
  int is_set = 0;
  check_mpi(MPI_Comm_get_attr(comm.get(), key(), &found, &is_set), "MPI_Comm_get_attr");
  if (!is_set) {
    keep(comm, std::make_unique<Calibration>(calibrate(comm, 0.5)));
    return calibration_of(comm);
  }
  return *static_cast<const Calibration*>(found);
}

void set_calibration(const Communicator& comm, Calibration calibration) {
  if (calibration.ranks != comm.size() || calibration.nodes != comm.nodes())
    throw InputError(fmt::format("calibration: made with {} ranks on {} nodes, not {} on {}", calibration.ranks,
                                 calibration.nodes, comm.size(), comm.nodes()));
  keep(comm, std::make_unique<Calibration>(std::move(calibration)));
}

}  // namespace shardmark
