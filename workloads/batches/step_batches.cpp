// SPDX-License-Identifier: Apache-2.0
#include "workloads/batches/step_batches.hpp"

namespace shardmark::workloads {

StepBatches::StepBatches(const std::vector<StepInput>& in_memory, const RunOptions& options, BatchSource& source)
    : in_memory_(&in_memory), options_(&options) {
  if (options.data.reading == DataReading::steps) source_ = &source;
}

StepBatches StepBatches::all_read(const std::vector<StepInput>& in_memory, const RunOptions& options,
                                  BatchSource& source) {
  StepBatches batches(in_memory, options, source);
  batches.source_ = &source;
  return batches;
}

const StepInput& StepBatches::get(const comm::Communicator& comm, std::int64_t number, StepInput& own) const {
  if (!reads()) return (*in_memory_)[static_cast<std::size_t>(number % std::ssize(*in_memory_))];
  const SampleRange range = samples_of(options_->workload.global_batch, comm.size(), comm.rank());
  const datasets::Samples samples = comm::agree(comm, [&] { return source_->read(number, range.first, range.count); });
  own = make_step_input(comm, options_->workload, samples, range.first, number, options_->gradients(), *in_memory_);
  return own;
}

}  // namespace shardmark::workloads
