// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/saved_steps.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "datasets/checkpoint/parts.hpp"
#include "reference/storage.hpp"
#include "workloads/batches/compute_threads.hpp"
#include "workloads/checkpoint/checkpoints.hpp"

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

/// Returns a folder of this launch that no disk has to be waited for, where the system has one.
std::string folder_of_saves(const comm::Communicator& comm) {
  const fs::path memory = "/dev/shm";
  std::string folder = ((access(memory.c_str(), W_OK) == 0 ? memory : fs::temp_directory_path()) /
                        fmt::format("shardmark_net_{}", getpid()))
                           .string();
  comm::broadcast(comm, folder, 0);
  return folder;
}

bool is_saved(const Table& table) {
  const Table cached = storage_of(table).cached_rows(table);
  return cached.rows == 0 || cached.optimizer.kind == OptimizerKind::none;
}

/// Returns whether a step has the same bits each time: gradients that threads add as they come have not.
bool is_repeated(const Table& table) {
  return table.storage != Storage::tt || table.tensor_train.slice_sums == SliceSums::ordered ||
         compute_thread_count() == 1;
}

void take_steps(Prepared& prepared, std::int64_t first, std::int64_t end, Checkpoints& checkpoints) {
  ReadyCase& ready = prepared.ready(0);
  if (!ready.pipeline) {
    for (std::int64_t step = first; step < end; ++step) {
      ready.step(prepared.inputs()[static_cast<std::size_t>(step)]);
      checkpoints.took(prepared.inputs()[static_cast<std::size_t>(step)]);
    }
    return;
  }
  if (first == end) return;
  ready.pipeline->start(prepared.step_batches(), first, end - first);
  for (std::int64_t step = first; step < end; ++step) {
    ready.pipeline->step(ready.dense);
    checkpoints.took(ready.pipeline->input());
  }
  ready.pipeline->finish();
}

}  // namespace

std::string differs_when_restored(const comm::Communicator& comm, const CaseSetup& setup, Prepared& prepared,
                                  SaveKind kind, SaveMode mode) {
  const auto& [plan, options] = setup.planned();
  if (setup.config().async.looks_up() || !setup.config().async.in_order()) return {};
  const std::vector<Table>& tables = prepared.tables().tables();
  if (!std::ranges::all_of(tables, is_saved) || !std::ranges::all_of(tables, is_repeated)) return {};
  const std::string folder = folder_of_saves(comm), whole = folder + "/whole", before = folder + "/before",
                    again = folder + "/again";
  const std::int64_t steps = options.checked_steps, half = std::max<std::int64_t>(1, steps / 2);
  const auto save = [&](Checkpoints& checkpoints) { checkpoints.save(prepared.tables(), prepared.ready(0).dense); };

  RunOptions saving = options;
  saving.save = whole;
  Checkpoints of_all(comm, saving, plan, {});
  save(of_all);
  RunOptions first = options;
  first.save = before;
  first.save_kind = kind;
  first.disk_ceiling = mode == SaveMode::behind;
  const auto keeps = [](const Table& table) { return storage_of(table).keeps_rows; };
  if (host_reaches_arrays && std::ranges::all_of(tables, keeps)) first.save_mode = mode;
  Checkpoints in_midst(comm, first, plan, {});
  prepared.fill();
  take_steps(prepared, 0, half, in_midst);
  save(in_midst);
  take_steps(prepared, half, steps, in_midst);
  if (half < steps && kind == SaveKind::changes) save(in_midst);
  in_midst.finish();
  RunOptions second = options;
  second.restore = before;
  second.save = again;
  second.disk_ceiling = mode == SaveMode::stop;
  Checkpoints restored(comm, second, plan, {});
  prepared.fill();
  const std::int64_t taken = restored.restore(prepared.tables(), prepared.ready(0).dense);
  take_steps(prepared, taken, steps, restored);
  save(restored);
  of_all.finish();  // as jobs end: until then a thread may look for checkpoints to remove, while the folder goes
  restored.finish();

  std::string different;
  comm::agree(comm, [&] {
    if (comm.rank() != 0) return;
    const datasets::CheckpointReader a(whole), b(again);
    for (const auto& each : datasets::differences(a, b))
      different += fmt::format("; {}: {} rows differ, the first of them {} {}", each.path, each.rows, each.number,
                               each.first_row);
    fs::remove_all(folder);
  });
  comm::broadcast(comm, different, 0);
  return different.empty() ? "" : "restored after step " + std::to_string(taken) + different;
}

}  // namespace shardmark::workloads
