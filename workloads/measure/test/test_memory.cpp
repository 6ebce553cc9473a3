// SPDX-License-Identifier: Apache-2.0
// What is said to be needed before a case is made, against what it then allocates.
#include <gtest/gtest.h>
#include <malloc.h>

#include <atomic>
#include <fstream>
#include <limits>
#include <numeric>

#include "comm/collectives.hpp"
#include "comm/placement/cost/step_cost.hpp"
#include "kernels/huge_pages.hpp"
#include "workloads/cases/placement_inputs.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_tts.hpp"
#include "workloads/step/training_step.hpp"

namespace shardmark::workloads {
namespace {

std::atomic<std::int64_t> allocated{0};

/// What is freed goes back to the system from the first array on: otherwise glibc keeps arrays of up to 32 MiB in the
/// heap, whose pages then stay huge, so that each small piece made there later may count as 2 MiB.
class Memory : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
    mallopt(M_TRIM_THRESHOLD, 128 << 10);
  }
};

/// Without the huge page that kernels::allocate adds to align an array of two and more: what it skips is never touched.
std::int64_t touched(std::uint64_t bytes) {
  return static_cast<std::int64_t>(bytes >= 3 * kernels::huge_page ? bytes - kernels::huge_page : bytes);
}

/// Bytes that arrays hold now are counted in `allocated`.
void count_allocations() {
  using Kokkos::Tools::SpaceHandle;
  Kokkos::Tools::Experimental::set_allocate_data_callback(
      [](const SpaceHandle, const char*, const void*, const std::uint64_t bytes) { allocated += touched(bytes); });
  Kokkos::Tools::Experimental::set_deallocate_data_callback(
      [](const SpaceHandle, const char*, const void*, const std::uint64_t bytes) { allocated -= touched(bytes); });
}

RunOptions large_case(Pooling pooling) {
  RunOptions options = small_case(pooling, OptimizerKind::sgd, false);
  options.checked_steps = 1;
  options.batches = 1;
  options.workload.global_batch = 2000;
  options.workload.ids = {.distribution = IdDistribution::uniform, .weighted = true};
  options.workload.tables = {{.name = "small", .rows = 4000, .dim = 16}, {.name = "large", .rows = 100000, .dim = 32}};
  options.workload.features = {{.name = "f", .table = 0, .pooling = pooling, .hotness = 10},
                               {.name = "g", .table = 1, .pooling = pooling, .hotness = 10}};
  return options;
}

/// What planners keep free on this rank for tables and buffers: enough, and not far from what is allocated. The model
/// knows no arrays of tensor trains and dense models, nor sums of few rows.
void check_prediction(const comm::Communicator& comm, const RunOptions& options,
                      const placement::LookupStatistics& statistics, const placement::Plan& plan, const Case& movement,
                      double allocated_bytes) {
  const double predicted = placement::predict_step(step_context_of(statistics, options.workload, plan, movement,
                                                                   comm.size(), DenseKind::none),
                                                   placement::described_cluster(), plan)
                               .memory[static_cast<std::size_t>(comm.rank())];
  EXPECT_LE(allocated_bytes, predicted + 128e3) << plan.name << " " << movement.name();
  EXPECT_LE(comm::all_reduce(comm, predicted, comm::Reduce::max),
            3 * comm::all_reduce(comm, allocated_bytes, comm::Reduce::max))
      << plan.name << " " << movement.name();
}

using Planners = std::vector<std::string_view>;

/// Holds what is said to be needed for each plan and movement against what one step has allocated.
void check_estimates(const comm::Communicator& comm, const RunOptions& options, const std::vector<Case>& movements,
                     const Planners& planners = {"row_wise", "table_wise", "column_wise", "data_parallel"}) {
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const std::int64_t before = allocated;
  const auto inputs = inputs_of(comm, options, *batches);
  const auto of_inputs = static_cast<double>(allocated - before);
  const Workload& workload = options.workload;
  const placement::LookupStatistics statistics(workload.tables, workload.features, id_statistics_of(workload.ids));
  RunOptions unchecked = options;  // without the reference, which this does not run
  unchecked.checked_steps = 0;
  for (const std::string_view planner : planners) {
    const placement::Plan plan = plan_of(planner, options, comm.size());
    ShardedTables tables(plan, workload.tables, workload.features, comm.rank());
    tables.fill(options.row_values());
    for (const Case& movement : movements) {
      const auto ready = ready_case(comm, tables, plan, movement, inputs.front());
      const auto dense = make_dense_model(comm, options);
      training_step(ready->flight, inputs.front(), *dense);
      const auto actual = static_cast<double>(allocated - before);
      if (!has_layers(options.dense.kind) && workload.tables.front().storage == Storage::dense)
        check_prediction(comm, options, statistics, plan, movement, actual - of_inputs);
      const double needed = memory_needed(comm, plan, unchecked, std::array{movement}).all();
      EXPECT_LE(actual, needed) << planner << " " << movement.name();
      EXPECT_LE(comm::all_reduce(comm, needed, comm::Reduce::max),
                3 * comm::all_reduce(comm, actual, comm::Reduce::max))
          << planner << " " << movement.name();
    }
  }
}

std::vector<Case> with_transfers() {
  std::vector<Case> cases;
  for (const auto& transfer : placement::transfers) cases.push_back({.movement = {.transfer = transfer.value}});
  return cases;
}

TEST_F(Memory, NeededIsEnoughAndNotFarFromWhatIsAllocated) {
  count_allocations();
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const Pooling pooling : {Pooling::sum, Pooling::none, Pooling::max}) {
    const RunOptions options = large_case(pooling);
    SCOPED_TRACE(name_of(pooling));
    std::vector<Case> cases;
    if (pooling != Pooling::max) cases = with_transfers();
    constexpr auto rows = placement::RowTransfer::unique_rows;
    for (const auto& dedup : placement::dedups)
      for (const WireTypes wire : {WireTypes{}, WireTypes{ValueType::fp16, ValueType::fp16}})
        if (dedup.value != placement::Dedup::node)
          cases.push_back({.movement = {.transfer = rows, .wire = wire, .dedup = dedup.value}});
    check_estimates(comm, options, cases);
    if (comm.size() != 4) continue;
    const comm::Communicator nodes(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
    check_estimates(nodes, options, {{.movement = {.transfer = rows, .dedup = placement::Dedup::node}}});
  }
}

TEST_F(Memory, OfSegmentsIsEnoughAndNotFarFromWhatIsAllocated) {
  count_allocations();
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::int64_t rank : {0, 1}) {
    RunOptions options = large_case(Pooling::sum);
    for (Feature& feature : options.workload.features) {
      feature.segments = 4;
      feature.hotness = 8;
      feature.segment_rank = rank;
    }
    SCOPED_TRACE(rank);
    check_estimates(comm, options, with_transfers());
  }
}

TEST_F(Memory, OfHotRowsIsEnoughAndNotFarFromWhatIsAllocated) {
  count_allocations();
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const Pooling pooling : {Pooling::sum, Pooling::none})
    check_estimates(comm, large_case(pooling), with_transfers(), {"hot_rows:rows=300", "hot_rows:rows=3000"});
}

TEST_F(Memory, OfDenseModelsIsEnoughAndNotFarFromWhatIsAllocated) {
  count_allocations();
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const DenseKind kind : {DenseKind::exact, DenseKind::mlp, DenseKind::dcnv2}) {
    RunOptions options = large_case(Pooling::sum);
    options.workload.dense = DenseSpec{.kind = kind,
                                       .numerical_features = 13,
                                       .bottom_mlp = {512, 256, 128},
                                       .top_mlp = {1024, 512, 1},
                                       .cross_layers = 3,
                                       .cross_rank = 64};
    options.dense = {.kind = kind, .optimizer = OptimizerKind::adam};
    SCOPED_TRACE(name_of(kind));
    check_estimates(comm, options, {Case{}});
  }
}

/// Tables of 40000 rows each, of which a step names nearly all or a part.
TEST_F(Memory, OfTensorTrainsIsEnoughAndNotFarFromWhatIsAllocated) {
  count_allocations();
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::int64_t cache_rows : {0, 4000})
    for (const std::int64_t hotness : {2, 20})
      for (const std::vector<std::int64_t>& rows : {std::vector<std::int64_t>{200, 200}, {30, 40, 40}}) {
        SCOPED_TRACE("cache " + std::to_string(cache_rows) + " hotness " + std::to_string(hotness));
        RunOptions options = large_case(Pooling::sum);
        const bool three = rows.size() == 3;
        for (Table& table : options.workload.tables) {
          table.rows = 40000;
          table.dim = 32;
          make_tt(table, rows, three ? std::vector<std::int64_t>{4, 4, 2} : std::vector<std::int64_t>{4, 8},
                  {three ? 16 : 4}, ContractionDirection::prefix);
          table.tensor_train.cache = {.rows = cache_rows, .writes = CacheWrites::read_only};
        }
        for (Feature& feature : options.workload.features) feature.hotness = hotness;
        check_estimates(comm, options, {Case{}}, {tt_planners.begin(), tt_planners.end()});
      }
}

/// "VmHWM:" or another line of /proc/self/status, in bytes.
double of_process(std::string_view key) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kibibytes = 0;
    if (word == key && status >> kibibytes) return 1024 * kibibytes;
  }
  return 0.0;
}

/// By how many bytes the memory of this process has grown at most while body() ran; 0 where the system does not tell.
template <class Body>
double growth_in(const Body& body) {
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << 5;  // the high-water mark falls to what is used now
  const double before = of_process("VmRSS:");
  if (of_process("VmHWM:") > before + 4e6) return 0.0;
  body();
  return of_process("VmHWM:") - before;
}

/// All cases of one plan after the other, checked and timed: what is needed must be enough for them, and at most
/// `factor` times what they use.
void check_growth(const comm::Communicator& comm, const RunOptions& options, std::string_view planner,
                  const std::vector<Case>& hows, double factor) {
  const std::vector<PlannedTables> plans{{plan_of(planner, options, comm.size()), options}};
  std::vector<PlannedCase> cases;
  for (const Case& config : hows) cases.push_back({0, config});
  const auto batches = make_batch_source(options, [](const std::string&) {});
  std::int64_t wrong = 0;
  const auto growth_of_all = [&] {
    return growth_in([&] {
      const auto measured = measure(
          {comm, options, plans, cases}, *batches, [](const std::string&) {}, [](const Measured&) {});
      for (const results::CaseRecord& record : measured.records) wrong += record.wrong;
    });
  };
  double growth = growth_of_all();
  if (comm::all_reduce(comm, growth, comm::Reduce::min) <= 0.0) GTEST_SKIP() << "no high-water mark that can be reset";
  // Of MPI, and pages that freed pieces keep in the arena of each thread.
  const Async& async = hows.front().async;
  const double of_libraries = 16e6 * static_cast<double>(async.on() ? 1 + async.threads : 1);
  const double needed = memory_needed(comm, plans.front().plan, options, hows).all();
  // MPI keeps messages that came before a delayed rank asked for them, so the growth is the least of some.
  for (int more = 0; more < 9; ++more)
    if (comm::all_reduce(comm, growth - needed - of_libraries, comm::Reduce::max) > 0.0)
      growth = std::min(growth, growth_of_all());
  EXPECT_EQ(wrong, 0);
  EXPECT_LE(growth, needed + of_libraries) << planner << " " << hows.front().name();
  EXPECT_LE(comm::all_reduce(comm, needed, comm::Reduce::max),
            factor * comm::all_reduce(comm, growth, comm::Reduce::max))
      << planner << " " << hows.front().name();
}

std::vector<Case> with_exchanges(const comm::Communicator& comm, const placement::Movement& movement,
                                 const std::vector<std::string>& names) {
  std::vector<Case> cases;
  for (const std::string& name : names)
    if (const comm::NamedExchange exchange = comm::exchange_named(name); exchange.unusable(comm).empty())
      cases.push_back({.movement = movement, .exchange = exchange});
  return cases;
}

/// Of whose buffers most are outputs, in batches with one id per bag.
RunOptions wide_case() {
  RunOptions options = large_case(Pooling::sum);
  options.checked_steps = 0;
  options.batches = 4;
  options.steps = 1;
  options.workload.global_batch = 8000;
  options.workload.ids = {.distribution = IdDistribution::power_law, .alpha = 1.05};
  options.workload.tables = {{.name = "t", .rows = 20000, .dim = 128}};
  options.workload.features.clear();
  for (const char* name : {"a", "b", "c", "d", "e", "f"})
    options.workload.features.push_back({.name = name, .table = 0, .pooling = Pooling::sum, .hotness = 1});
  return options;
}

TEST_F(Memory, CasesOfAPlanNeedNoMoreThanTheLargest) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::vector<std::string> names{"mpi_alltoallv", "pairwise", "linear", "chunked", "persistent"};
  check_growth(comm, wide_case(), "row_wise", with_exchanges(comm, {}, names), 2);
}

TEST_F(Memory, CountsWhatExchangesKeep) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const char* name : {"rma_put", "bruck", "bruck:3"})
    check_growth(comm, wide_case(), "row_wise", with_exchanges(comm, {}, {name}), 2);
  if (comm.size() != 4) return;
  const comm::Communicator nodes(MPI_COMM_WORLD, std::numeric_limits<int>::max(), {0, 0, 2, 2});
  for (const char* name : {"node_aware", "node_leader:1", "node_leader:2"})
    check_growth(nodes, wide_case(), "row_wise", with_exchanges(nodes, {}, {name}), 2);
}

TEST_F(Memory, OfNodesThatShareTheirKernelIsSharedToo) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::vector<int> each(comm.size());
  std::iota(each.begin(), each.end(), 0);
  const comm::Communicator containers(MPI_COMM_WORLD, std::numeric_limits<int>::max(), each);
  const auto share = static_cast<double>(memory_available(comm.size()));
  EXPECT_NEAR(static_cast<double>(memory_of_node(containers)), share, 0.2 * share);
}

TEST_F(Memory, CountsWhatTravels) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  for (const std::string_view planner : {"table_wise", "column_wise", "data_parallel"})
    check_growth(comm, wide_case(), planner, {Case{}}, 2);
  for (const auto& transfer : placement::transfers)
    check_growth(comm, wide_case(), "row_wise", {{.movement = {.transfer = transfer.value}}}, 3);
}

TEST_F(Memory, CountsTheBatchesOfAPipeline) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  constexpr double factor = 6;  // how many batches are ready at a time depends on which threads have a core
  for (const AsyncMode mode : {AsyncMode::ids, AsyncMode::rows, AsyncMode::patched})
    check_growth(comm, wide_case(), "row_wise", {{.async = {.mode = mode, .threads = 2}}}, factor);
}

TEST_F(Memory, CountsTheReference) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  RunOptions options = wide_case();
  options.checked_steps = 2;
  options.workload.global_batch = 500;
  options.workload.ids = {.distribution = IdDistribution::uniform};
  options.workload.tables = {{.name = "t", .rows = 1 << 20, .dim = 32, .optimizer = {.kind = OptimizerKind::adam}}};
  for (Feature& feature : options.workload.features) feature.hotness = 10;
  check_growth(comm, options, "table_wise", {Case{}}, 2);
}

TEST_F(Memory, LookupBytesCountEachDistinctRowOnce) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = one_small_table();
  const std::int64_t ids = 37 * 40, ids_and_rows = ids * 8 + 12 * 4 * 4, ends_and_outputs = (37 + 1) * 8 + 37 * 4 * 4;
  const auto batches = make_batch_source(options, [](const std::string&) {});
  const auto input = inputs_of(comm, options, *batches).front();
  for (const std::int64_t groups : {std::int64_t{1}, placement::TableGroups::table}) {
    const placement::Plan plan = plan_of("table_wise", options, comm.size());
    ShardedTables tables(plan, options.workload.tables, options.workload.features, comm.rank());
    tables.fill(options.row_values());
    const auto ready = ready_case(comm, tables, plan, {.groups = {groups}}, input);
    training_step(ready->flight, input);
    EXPECT_EQ(comm::all_reduce(comm, ready->flight.lookup_bytes(), comm::Reduce::max), ids_and_rows + ends_and_outputs);
  }
  const placement::Plan replicated = plan_of("data_parallel", options, comm.size());
  ShardedTables tables(replicated, options.workload.tables, options.workload.features, comm.rank());
  tables.fill(options.row_values());
  const auto ready = ready_case(comm, tables, replicated, {}, input);
  training_step(ready->flight, input);
  const std::int64_t samples = samples_of(37, comm.size(), comm.rank()).count;
  EXPECT_EQ(ready->flight.lookup_bytes(), samples * 40 * 8 + 12 * 4 * 4 + (samples + 1) * 8 + samples * 4 * 4);
}

}  // namespace
}  // namespace shardmark::workloads
