// SPDX-License-Identifier: Apache-2.0
#include "workloads/sweep/step_traffic.hpp"

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "comm/placement/traffic/traffic_file.hpp"
#include "reference/output_file.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {
namespace {

placement::ByteMatrix gathered(const comm::Communicator& comm, std::span<const std::int64_t> sent) {
  const auto rows = comm::all_gather(comm, sent);
  placement::ByteMatrix matrix(comm.size());
  for (int from = 0; from < comm.size(); ++from)
    for (int to = 0; to < comm.size(); ++to) matrix.set(from, to, rows.of(from)[to]);
  return matrix;
}

}  // namespace

void write_step_traffic(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                        const Case& how, BatchSource& batches, const std::string& file) {
  FirstStep first(comm, options, plan, how, batches);
  first.ready.step(first.input);

  placement::ByteMatrix all(comm.size());
  for (const Phase phase : {Phase::input_dist, Phase::output_dist, Phase::grad_dist, Phase::update}) {
    const placement::ByteMatrix matrix = gathered(comm, first.ready.flight.sent().to_ranks(index_of(phase)).payload);
    all += matrix;
    comm::agree(comm, [&] {
      if (comm.rank() == 0)
        write_file(file + '.' + std::string(results::phase_names[index_of(phase)]), placement::traffic_text(matrix));
    });
  }
  comm::agree(comm, [&] {
    if (comm.rank() == 0) write_file(file, placement::traffic_text(all));
  });
}

}  // namespace shardmark::workloads
