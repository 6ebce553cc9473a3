// SPDX-License-Identifier: Apache-2.0
// A store and one line are all that a new storage needs: it is then found wherever people meet storages.
#include <gtest/gtest.h>
#include <hdf5.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <bit>
#include <cstring>
#include <filesystem>

#include "comm/session.hpp"
#include "datasets/hdf5.hpp"
#include "reference/error.hpp"
#include "reference/pooled_lookup.hpp"
#include "results/results_table.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/command/command.hpp"
#include "workloads/measure/export.hpp"
#include "workloads/measure/measure.hpp"
#include "workloads/measure/memory.hpp"
#include "workloads/measure/test/planners_of_every_kind.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"
#include "workloads/tables/storages.hpp"

namespace shardmark::workloads {
namespace {

/// Keeps each row as two fp32 halves, whose sum it is. Of them the first is trained, by sgd, which needs no more.
class HalvesStore : public Store {
 public:
  HalvesStore(const ShardLayout& layout, const std::vector<Table>& tables, const std::vector<std::int64_t>& shards)
      : layout_(layout), tables_(tables), shards_(shards), halves_(layout.shards.size()) {
    for (const std::int64_t s : shards)
      for (auto& half : halves_[s])
        half = kernels::allocate<Execution, float>("shardmark::half", local(s).rows.count() * local(s).dim());
  }

  void fill(const RowValues& initial) override {
    for (const std::int64_t s : shards_)
      for (std::int64_t e = 0; e < local(s).rows.count() * local(s).dim(); ++e)
        for (const auto& half : halves_[s]) half(e) = 0.5F * initial_value(s, e, initial);
  }

  std::unique_ptr<Lookups> lookups(const std::vector<std::int64_t>&) override {
    return std::make_unique<HalvesLookups>(*this);
  }
  std::unique_ptr<Updates> updates(const std::vector<KeyedShard>& shards) override {
    return std::make_unique<HalvesUpdates>(*this, shards);
  }
  std::vector<ShardPart> parts(std::int64_t s) const override {
    return {{local(s).rows, local(s).column_begin, local(s).column_end}};
  }

  ChosenRows read_rows(std::int64_t s, std::int64_t, const std::vector<std::int64_t>& local_rows) const override {
    ChosenRows chosen;
    for (const std::int64_t r : local_rows) std::ranges::copy(row(s, r), std::back_inserter(chosen.values));
    return chosen;
  }
  StoredRows read_range(std::int64_t s, std::int64_t, std::int64_t first, std::int64_t count) const override {
    StoredRows stored;
    for (std::int64_t e = first * local(s).dim(); e < (first + count) * local(s).dim(); ++e)
      for (const auto& half : halves_[s]) {
        const auto bytes = std::bit_cast<std::array<std::byte, sizeof(float)>>(half(e));
        stored.values.insert(stored.values.end(), bytes.begin(), bytes.end());
      }
    return stored;
  }
  void write_range(std::int64_t s, std::int64_t, std::int64_t first, const StoredRows& rows) override {
    const std::byte* next = rows.values.data();
    for (std::int64_t e = first * local(s).dim(); next < rows.values.data() + rows.values.size(); ++e)
      for (const auto& half : halves_[s]) {
        std::memcpy(&half(e), next, sizeof(float));
        next += sizeof(float);
      }
  }

  std::int64_t changed_rows(std::int64_t s, std::int64_t, const RowValues& initial) const override {
    std::int64_t changed = 0;
    for (std::int64_t r = 0; r < local(s).rows.count(); ++r) {
      const std::vector<float> now = row(s, r);
      std::int64_t same = 0;
      while (same < local(s).dim() && now[same] == initial_value(s, r * local(s).dim() + same, initial)) ++same;
      changed += same < local(s).dim() ? 1 : 0;
    }
    return changed;
  }
  double huge_page_share() const override { return 0.0; }

 private:
  using Halves = std::array<DeviceArray<float>, 2>;

  class HalvesLookups : public Lookups {
   public:
    explicit HalvesLookups(const HalvesStore& store) : store_(store) {}
    void set(const std::vector<BagBlock>& blocks) override { blocks_ = blocks; }
    void run(const BagIds& bags, const DeviceArray<float>& output) override {
      for (const BagBlock& block : blocks_)
        for (std::int64_t b = 0; b < block.bags; ++b) pool(block, b, bags, output);
    }
    void max_gradients(const BagIds&, const ConstDeviceArray<float>&, const ConstDeviceArray<float>&,
                       const DeviceArray<float>&) override {
      throw InputError("storage halves does not pool by max");
    }

   private:
    void pool(const BagBlock& block, std::int64_t b, const BagIds& bags, const DeviceArray<float>& output) const {
      const std::int64_t begin = bags.offsets(block.first_bag + b), end = bags.offsets(block.first_bag + b + 1);
      const auto count = static_cast<std::size_t>(end - begin);
      const bool weighted = bags.weights.extent(0) > 0;
      reference::pool_bag(
          block.pooling, [&](std::int64_t id) { return store_.row(block.shard, id); },
          std::span<const std::int64_t>(bags.ids.data() + begin, count),
          std::span<const float>(weighted ? bags.weights.data() + begin : nullptr, weighted ? count : 0),
          std::span(output.data() + block.output + b * block.stride,
                    static_cast<std::size_t>(store_.local(block.shard).dim())));
    }

    const HalvesStore& store_;
    std::vector<BagBlock> blocks_;
  };

  class HalvesUpdates : public Updates {
   public:
    HalvesUpdates(const HalvesStore& store, const std::vector<KeyedShard>& shards) {
      std::vector<kernels::UpdateShard> all;
      for (const KeyedShard& shard : shards) all.push_back(store.first_halves(shard));
      shards_ = kernels::shard_list(Execution(), all);
    }
    void row_sums(const RowGradients& gradients, const kernels::UpdateStep& now, const DeviceArray<double>& sums,
                  std::int64_t width) override {
      kernels::row_sums(Execution(), gradients, shards_, now, workspace_, sums, width);
    }
    void run(const RowGradients& gradients, const kernels::UpdateStep& now,
             const kernels::RowSums<Execution>& whole_rows) override {
      kernels::fused_update(Execution(), gradients, shards_, now, workspace_, whole_rows);
    }
    kernels::RowElements count(const kernels::UniqueRows<Execution>& unique) override {
      kernels::RowElements elements = kernels::row_elements(Execution(), unique, shards_);
      elements.bytes *= 2;
      return elements;
    }

   private:
    kernels::ShardList<Execution, kernels::UpdateShard> shards_;
    kernels::RowGradientsWorkspace<Execution> workspace_;
  };

  const LocalShard& local(std::int64_t s) const { return layout_.shards[s]; }
  float initial_value(std::int64_t s, std::int64_t element, const RowValues& initial) const {
    const auto& shard = local(s);
    return initial(shard.table, shard.rows.global(element / shard.dim()), shard.column_begin + element % shard.dim());
  }
  std::vector<float> row(std::int64_t s, std::int64_t local_row) const {
    std::vector<float> sums;
    for (std::int64_t e = local_row * local(s).dim(); e < (local_row + 1) * local(s).dim(); ++e)
      sums.push_back(halves_[s][0](e) + halves_[s][1](e));
    return sums;
  }
  kernels::UpdateShard first_halves(const KeyedShard& keyed) const {
    const Halves& halves = halves_[keyed.shard];
    if (halves[0].extent(0) == 0) return {.first_key = keyed.first_key, .optimizer = {.kind = OptimizerKind::none}};
    const Table& table = tables_[local(keyed.shard).table];
    return {.rows = halves[0].data(),
            .first_key = keyed.first_key,
            .dim = local(keyed.shard).dim(),
            .full_dim = table.dim,
            .optimizer = table.optimizer};
  }

  const ShardLayout& layout_;
  const std::vector<Table>& tables_;
  std::vector<std::int64_t> shards_;
  std::vector<Halves> halves_;  ///< by shard of the layout; empty: not kept here
};

std::unique_ptr<Store> make_halves_store(const ShardLayout& layout, const std::vector<Table>& tables,
                                         const std::vector<std::int64_t>& shards) {
  return std::make_unique<HalvesStore>(layout, tables, shards);
}
std::int64_t bytes_of_halves(const Table&, std::int64_t columns) { return 2 * 4 * columns; }
constexpr auto halves = static_cast<Storage>(3);

/// The one line.
const AddedStorage added({{"halves", "two halves of every row", halves}, bytes_of_halves}, {halves, make_halves_store});

class AddedStorages : public testing::Test {
 protected:
  const comm::Communicator world_{MPI_COMM_WORLD};

  static std::unique_ptr<BatchSource> batches_of(const RunOptions& options) {
    return make_batch_source(options, [](const std::string&) {});
  }
};

TEST_F(AddedStorages, IsListed) {
  CLI::App app;
  define_list(app);
  testing::internal::CaptureStdout();
  app.parse("storages");
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_NE(text.find("  halves                     two halves of every row\n"), text.npos) << text;
}

TEST_F(AddedStorages, TakesStepsThatTheReferenceConfirms) {
  RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  for (std::size_t t = 0; t < options.workload.tables.size(); t += 2) options.workload.tables[t].storage = halves;
  for (const std::string_view planner : planners_of_every_kind(world_.size()))
    for (const auto transfer : {placement::RowTransfer::dense_partials, placement::RowTransfer::unique_rows}) {
      const Case config{.movement = {.transfer = transfer}};
      const placement::Plan plan = plan_of(planner, options, world_.size());
      EXPECT_EQ(0, wrong_values(world_, options, plan, config)) << planner << " " << config.name();
      options.fault = Fault::update;
      EXPECT_NE(0, wrong_values(world_, options, plan, config)) << planner << " " << config.name();
      options.fault = Fault::none;
    }
}

TEST_F(AddedStorages, IsInRecordAndPrintedTable) {
  RunOptions options = one_small_table();
  options.steps = 2;
  std::vector<Case> cases(1);
  set_options(options, cases, {given_setting("storage=dense,halves", true)});
  std::vector<PlannedTables> plans;
  std::vector<PlannedCase> planned;
  for (const Case& config : cases) {
    planned.push_back({plans.size(), config});
    plans.push_back({plan_of("row_wise", options, world_.size()), with_storage(options, config.storage)});
  }
  const auto batches = batches_of(options);
  const auto records =
      measure(
          {world_, options, plans, planned}, *batches, [](const std::string&) {}, [](const Measured&) {})
          .records;
  ASSERT_EQ(2U, records.size());
  const auto bytes = [&](std::size_t c) { return records[c].details.at("table_bytes_max").get<std::int64_t>(); };
  EXPECT_EQ("halves", records[1].option("storage"));
  EXPECT_NE(std::ranges::find(records[1].changed, "storage"), records[1].changed.end());
  EXPECT_EQ(bytes(1), 2 * bytes(0));
  EXPECT_EQ(records[1].wrong, 0);
  EXPECT_GT(records[1].checked_steps, 0);
  const std::string table = results::results_table(nlohmann::ordered_json::object(), records);
  EXPECT_NE(table.find(" halves "), table.npos) << table;
  EXPECT_NE(table.find(" table MB "), table.npos) << table;
}

std::int64_t allocated = 0;

TEST_F(AddedStorages, IsInTheMemoryCheckAndInPlans) {
  Kokkos::Tools::Experimental::set_allocate_data_callback(
      [](Kokkos::Tools::SpaceHandle, const char*, const void*, std::uint64_t bytes) {
        allocated += static_cast<std::int64_t>(bytes);
      });
  RunOptions dense = one_small_table();
  dense.workload.tables.front().rows = 3000;
  dense.checked_steps = 0;
  const placement::Plan plan = plan_of("table_wise", dense, world_.size());
  const auto allocated_and_needed = [&](const RunOptions& options) {
    const std::vector<Table>& tables = options.workload.tables;
    const std::int64_t before = allocated;
    const ShardedTables kept(plan, tables, options.workload.features, world_.rank());
    EXPECT_EQ(placement::loads_of(plan, tables).front().bytes(), table_bytes(plan, tables).front());
    return std::pair(static_cast<double>(allocated - before),
                     memory_needed(world_, plan, options, std::vector<Case>(1)).all());
  };
  const auto of_dense = allocated_and_needed(dense), of_halves = allocated_and_needed(with_storage(dense, halves));
  Kokkos::Tools::Experimental::set_allocate_data_callback(nullptr);
  const double more = world_.rank() == 0 ? 3000 * 4 * 4 : 0.0;
  EXPECT_EQ(of_halves.second - of_dense.second, more);
  EXPECT_NEAR(of_halves.first - of_dense.first, more, 1024.0);  // beside the alignment of arrays
}

std::vector<float> read_floats(const datasets::hdf5::File& file, const char* object) {
  const hid_t array = H5Dopen2(file.id(), object, H5P_DEFAULT), space = H5Dget_space(array);
  std::vector<float> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  H5Dread(array, H5T_NATIVE_FLOAT, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data());
  H5Sclose(space);
  H5Dclose(array);
  return values;
}

TEST_F(AddedStorages, IsInTheExport) {
  std::array<std::array<std::vector<float>, 3>, 2> exported;
  for (std::size_t i = 0; i < exported.size(); ++i) {
    RunOptions options = one_small_table();
    std::vector<Case> cases(1);
    set_options(options, cases, {given_setting(i == 0 ? "storage=dense" : "storage=halves")});
    options = with_storage(options, cases.front().storage);
    const std::string path = std::filesystem::path(testing::TempDir()) / ("halves" + std::to_string(getpid()) + ".h5");
    const auto batches = batches_of(options);
    export_step(world_, options, plan_of("row_wise", options, world_.size()), cases.front(), *batches, path);
    if (world_.rank() != 0) continue;
    const auto file = datasets::hdf5::File::open(path);
    std::filesystem::remove(path);
    EXPECT_EQ(i == 0 ? "dense" : "halves", nlohmann::json::parse(file.read_string("/", "case")).at("storage"));
    exported[i] = {read_floats(file, "/tables/t/before"), read_floats(file, "/tables/t/after"),
                   read_floats(file, "/outputs/f")};
  }
  EXPECT_EQ(exported[0], exported[1]);
  if (world_.rank() == 0) {
    EXPECT_NE(exported[1][0], exported[1][1]);
  }
}

TEST_F(AddedStorages, IsReadAndWrittenRangeByRange) {
  const RunOptions options = with_storage(one_small_table(), halves);
  const auto& [tables, features] = std::tie(options.workload.tables, options.workload.features);
  ShardedTables kept(plan_of("data_parallel", options, world_.size()), tables, features, world_.rank());
  Store& store = kept.store_of(0);
  kept.fill(options.row_values());
  const StoredRows stored = store.read_range(0, 0, 2, 5);
  EXPECT_EQ(stored.values.size(), 5U * static_cast<std::size_t>(bytes_of_halves(tables.front(), 4)));
  kept.fill({.seed = 99});
  store.write_range(0, 0, 2, stored);
  EXPECT_EQ(store.changed_rows(0, 0, options.row_values()), 12 - 5);
}

}  // namespace
}  // namespace shardmark::workloads
