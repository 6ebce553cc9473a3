// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/step_traffic.hpp"

#include <fstream>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/traffic_file.hpp"
#include "datasets/partial_file.hpp"
#include "workloads/step/decide.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark {
namespace {

ByteMatrix gathered(const Communicator& comm, std::span<const std::int64_t> sent) {
  const auto rows = all_gather(comm, sent);
  ByteMatrix matrix(comm.size());
  for (int from = 0; from < comm.size(); ++from)
    for (int to = 0; to < comm.size(); ++to) matrix.set(from, to, rows.of(from)[to]);
  return matrix;
}

void write_file(const std::string& file, const ByteMatrix& matrix) {
  PartialFile partial(file);
  std::ofstream stream(partial.path());
  stream << traffic_text(matrix);
  stream.close();
  if (!stream) throw InputError(file + ": cannot write this file");
  partial.commit();
}

}  // namespace

void write_step_traffic(const Communicator& comm, const RunOptions& options, const Plan& plan, const Case& how,
                        BatchSource& batches, const std::string& file) {
  const Workload& workload = options.workload;
  const SampleRange own = samples_of(workload.global_batch, comm.size(), comm.rank());
  const Samples samples = agree(comm, [&] { return batches.read(0, own.first, own.count); });
  const StepInput input = make_step_input(comm, workload, samples, own.first, 0, options.gradients());
  std::optional<ShardedTables> tables;
  agree(comm, [&] { tables.emplace(plan, workload.tables, workload.features, comm.rank()); });
  tables->fill(options.row_values());
  Embedding embedding(comm, *tables, plan, how,
                      decide(comm, plan, workload.tables, workload.features, how.movement, input));
  Flight flight(embedding);
  training_step(flight, input);

  ByteMatrix all(comm.size());
  for (const Phase phase : {Phase::input_dist, Phase::output_dist, Phase::grad_dist, Phase::update}) {
    const ByteMatrix matrix = gathered(comm, flight.sent().to_ranks(index_of(phase)).payload);
    all += matrix;
    agree(comm, [&] {
      if (comm.rank() == 0) write_file(file + '.' + std::string(phase_names[index_of(phase)]), matrix);
    });
  }
  agree(comm, [&] {
    if (comm.rank() == 0) write_file(file, all);
  });
}

}  // namespace shardmark
