// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/step_traffic.hpp"

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/traffic/traffic_file.hpp"
#include "reference/output_file.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark {
namespace {

ByteMatrix gathered(const Communicator& comm, std::span<const std::int64_t> sent) {
  const auto rows = all_gather(comm, sent);
  ByteMatrix matrix(comm.size());
  for (int from = 0; from < comm.size(); ++from)
    for (int to = 0; to < comm.size(); ++to) matrix.set(from, to, rows.of(from)[to]);
  return matrix;
}

}  // namespace

void write_step_traffic(const Communicator& comm, const RunOptions& options, const Plan& plan, const Case& how,
                        BatchSource& batches, const std::string& file) {
  FirstStep first(comm, options, plan, how, batches);
  first.ready.step(first.input);

  ByteMatrix all(comm.size());
  for (const Phase phase : {Phase::input_dist, Phase::output_dist, Phase::grad_dist, Phase::update}) {
    const ByteMatrix matrix = gathered(comm, first.ready.flight.sent().to_ranks(index_of(phase)).payload);
    all += matrix;
    agree(comm, [&] {
      if (comm.rank() == 0) write_file(file + '.' + std::string(phase_names[index_of(phase)]), traffic_text(matrix));
    });
  }
  agree(comm, [&] {
    if (comm.rank() == 0) write_file(file, traffic_text(all));
  });
}

}  // namespace shardmark
