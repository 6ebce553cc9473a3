// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "comm/exchange/progress_exchange.hpp"
#include "kernels/lookup/bag_divisor.hpp"
#include "kernels/update/summed_gradients.hpp"
#include "workloads/batches/execution.hpp"
#include "workloads/step/brought_rows.hpp"
#include "workloads/step/embedding.hpp"
#include "workloads/step/input_dist.hpp"
#include "workloads/step/phase_clock.hpp"
#include "workloads/step/step_layout.hpp"
#include "workloads/transfer/node_vectors.hpp"
#include "workloads/transfer/row_sum_exchange.hpp"
#include "workloads/transfer/transfer.hpp"

namespace shardmark::workloads {

/// Runs the exchange of a group in a region of Kokkos Tools, behind the kernels that write what is sent.
class RegionExchange : public comm::ProgressExchange {
 public:
  RegionExchange(comm::Exchange& exchange, comm::ProgressThread& progress, comm::SentBytes& sent)
      : ProgressExchange(exchange, progress, sent), nests_(!progress.interleaves()) {}

  void run(const comm::Route& route, const std::byte* send, std::byte* receive, std::int64_t element_bytes) override {
    const Region region("exchange", nests_);
    if (!follows()) Execution().fence("shardmark: what is sent is written");
    ProgressExchange::run(route, send, receive, element_bytes);
  }

 private:
  bool nests_;
};

/// Holds what one step in flight makes of a batch, for one group: ids that came, places of vectors, buffers, bytes
/// sent. The phases (training_step.hpp) fill it in one after the other; a step of the same sizes later allocates
/// nothing.
struct GroupFlight {
  explicit GroupFlight(const Group& group);
  GroupFlight(const GroupFlight&) = delete;
  GroupFlight& operator=(const GroupFlight&) = delete;

  /// Lays out the buffers again; to be called when bags or vectors have changed in number.
  void lay_out(const BagCounts& bags);
  void lay_out_here();
  void lay_out_at_home();

  /// Returns how many bags this rank pools in the current step.
  std::int64_t vectors_looked_up() const { return static_cast<std::int64_t>(owned.offsets.extent(0)) - 1; }

  /// Returns the pooled outputs [bags, dim] of a feature for this rank's samples, from output_dist to the next
  /// input_dist.
  DeviceArray<float> output(const StepInput& input, std::int64_t feature) const;

  /// Returns whether divide() changes anything.
  bool divides(const StepInput& input) const;

  /// Divides the vectors of features that pool by mean or sqrtn by their bags' divisors. begins: where those of each
  /// feature begin; whole_too: those of replicated tables as well, whose lookup has divided the outputs already.
  void divide(const StepInput& input, const std::vector<std::int64_t>& begins, bool whole_too,
              const DeviceArray<float>& bag_vectors);

  const Group& group;
  const kernels::Readers readers;  ///< in this node of what the rank sends
  comm::SentBytes sent;
  RegionExchange exchange;  ///< of the group, on its progress, counted

  // These move the data:
  std::optional<NodeVectors> at_home;  ///< where all ranks reach all vectors
  std::unique_ptr<Transfer> pooled;
  HomeRows rows;
  ReplicatedUpdate replicated;

  // Of the current counts of bags and vectors.
  InputDist ids;
  BagCounts bags;
  VectorCounts counts;
  StepLayout layout;
  DeviceArray<float> vectors;  ///< StepLayout says what lies where
  /// These are the gradients at home of vectors that go back to their owners, and those that the owner reads
  /// (StepLayout). Where vectors lie at home, they are the gradients of this rank's outputs, and of all outputs of the
  /// node.
  DeviceArray<float> packed_gradients, owner_gradients;

  // Of the current step.
  OwnedIds owned;
  ConstDeviceArray<float> gradients;          ///< of the outputs, divided where features pool by mean or sqrtn
  std::optional<RowGradients> row_gradients;  ///< of the distinct rows of the shards that hold parts of tables
  kernels::RowSums<Execution> whole_rows;

  // How rows come and are updated, and memory that is used again.
  BroughtRows brought;
  TableUpdates updates;
  RowSumExchange row_sums;
  kernels::ShardList<Execution, kernels::GradientShard> gradient_shards;  ///< those that hold parts of tables
  kernels::SummedGradientsWorkspace<Execution> summed_workspace;
  DeviceScratch<float> vectors_scratch{"shardmark::vectors"};
  std::vector<std::shared_ptr<const void>> bands;  ///< VectorRegions::bands_in
  HostList<kernels::BagVectors> divided_blocks;
  DeviceScratch<float> divided_gradients{"shardmark::divided_gradients"};
  DeviceScratch<float> max_gradients{"shardmark::max_gradients"};
  DeviceScratch<float> replicated_max_gradients{"shardmark::replicated_max_gradients"};
  DeviceScratch<std::int64_t> keys{"shardmark::keys"}, gradient_offsets{"shardmark::gradient_offsets"};
  DeviceScratch<double> sums{"shardmark::row_sums"};
  kernels::UniqueRowsWorkspace<Execution> unique_workspace, replicated_workspace;
};

/// Is one step in flight of all groups of an embedding: what a batch makes, from its ids to the updated rows. An
/// embedding may have several.
class Flight {
 public:
  /// Makes a flight, which the embedding must outlive. Collective.
  explicit Flight(Embedding& embedding);

  Embedding& embedding() { return embedding_; }
  const Embedding& embedding() const { return embedding_; }

  /// Calls body(group's part, its number, clock) for every group, from phase `first` to `last`; groups take turns while
  /// others communicate (comm's ProgressThread). Collective.
  template <class Body>
  void each(PhaseCosts& costs, Phase first, Phase last, const Body& body) {
    if (first == Phase::input_dist) marks_.clear();  // of a batch that was prepared and not taken
    marks_.begin();
    interleave(embedding_.progress(), costs, std::ssize(groups_), [&](std::int64_t group) {
      PhaseClock clock(costs, marks_, embedding_.progress(), first, last);
      body(*groups_[group], group, clock);
    });
  }

  /// Calls body() as the dense phase.
  template <class Body>
  auto dense(PhaseCosts& costs, const Body& body) {
    marks_.begin();
    PhaseClock clock(costs, marks_, embedding_.progress(), Phase::dense, Phase::dense);
    auto result = body();
    clock.end(Phase::dense);
    return result;
  }

  /// Completes the seconds of the phases of a step that has ended, and of exchanges that the host has not waited for.
  void charge(PhaseCosts& costs) {
    if constexpr (host_reaches_arrays) return;  // the host has waited for all
    marks_.charge(costs);
    const comm::ExchangeSeconds exchanges = comm::take_exchange_seconds();
    costs.communication_seconds += exchanges.all;
    costs.exposed_seconds += exchanges.exposed;
  }

  /// Return the number of groups, and what the batch makes of a group's tables.
  std::int64_t groups() const { return std::ssize(groups_); }
  GroupFlight& group(std::int64_t number) { return *groups_[number]; }

  /// Returns the pooled outputs [bags, dim] of a feature for this rank's samples, from output_dist to the next
  /// input_dist.
  DeviceArray<float> output(const StepInput& input, std::int64_t feature) const;

  /// Returns what dedup did to rows, where rows travel one by one.
  RowCounts row_counts() const;

  /// Returns the bytes of memory that the lookup of the current step must read and write, every row that is used once;
  /// call it after the update. It sorts the ids, so it is not for timed steps.
  std::int64_t lookup_bytes();

  /// Adds to the numbers of a storage (StorageMaker::numbers) what the current step did in its tables; call it after
  /// the update.
  void report(Storage storage, std::span<std::int64_t> numbers) const;

  /// Returns what this rank has sent in the current step, complete after it.
  comm::SentBytes sent() const;

 private:
  Embedding& embedding_;
  std::vector<std::unique_ptr<GroupFlight>> groups_;
  PhaseMarks marks_;
};

}  // namespace shardmark::workloads
