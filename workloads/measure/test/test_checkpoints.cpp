// SPDX-License-Identifier: Apache-2.0
// Tables and weights that two ranks saved are restored on others, under other plans: what is there is what was saved,
// and what follows is what would have followed. Groups of the ranks of one launch stand for launches of their own.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>

#include "comm/collectives.hpp"
#include "datasets/checkpoint/merge.hpp"
#include "datasets/checkpoint/parts.hpp"
#include "workloads/checkpoint/checkpoints.hpp"
#include "workloads/checkpoint/run_facts.hpp"
#include "workloads/measure/test/small_tts.hpp"

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 6> split_planners{"row_wise",   "row_wise_block", "column_wise",
                                                         "table_wise", "data_parallel",  "hot_rows"};

/// Runs `work` on a communicator of the first ranks, while the others wait.
template <class Work>
void on_ranks(int ranks, const Work& work) {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm some = MPI_COMM_NULL;
  MPI_Comm_split(MPI_COMM_WORLD, rank < ranks ? 0 : MPI_UNDEFINED, rank, &some);
  if (some != MPI_COMM_NULL) {
    work(comm::Communicator(some));
    MPI_Comm_free(&some);
  }
  MPI_Barrier(MPI_COMM_WORLD);
}

/// Is a case that takes steps, whose tables are filled.
struct Steps {
  Steps(const comm::Communicator& comm, const RunOptions& run, std::string_view planner)
      : options(run),
        plan(plan_of(planner, options, comm.size())),
        batches(make_batch_source(options, [](const std::string&) {})),
        inputs(inputs_of(comm, options, *batches)),
        tables(plan, with_decisions(comm, options.workload.tables, options.workload.features, inputs.front()),
               options.workload.features, comm.rank()),
        dense(make_dense_model(comm, options)),
        ready(comm, tables, *dense, plan, {},
              decide(comm, plan, tables.tables(), tables.features(), Case{}.movement_in_effect(), inputs.front()),
              Fault::none),
        checkpoints(comm, options, plan, [](const std::string&) {}) {
    tables.fill(options.row_values());
  }

  void take(std::int64_t first, std::int64_t end) {
    for (std::int64_t step = first; step < end; ++step) {
      const StepInput& input = inputs[static_cast<std::size_t>(step)];
      ready.step(input);
      checkpoints.took(input);
    }
  }

  RunOptions options;
  placement::Plan plan;
  std::unique_ptr<BatchSource> batches;
  std::vector<StepInput> inputs;
  ShardedTables tables;
  std::unique_ptr<DenseModel> dense;
  ReadyCase ready;
  Checkpoints checkpoints;
};

class Saved : public testing::Test {
 protected:
  Saved() {
    int pid = getpid();
    MPI_Bcast(&pid, 1, MPI_INT, 0, MPI_COMM_WORLD);
    folder_ = fs::temp_directory_path() / ("shardmark_checkpoints_" + std::to_string(pid));
  }
  ~Saved() override {
    int rank = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) fs::remove_all(folder_);
  }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Takes 6 steps on 2 ranks, of which the first 3 are saved in "before/NAME" and all in "whole/NAME".
  CheckpointCosts take_all(RunOptions options, std::string_view planner, const std::string& name) const {
    CheckpointCosts costs;
    on_ranks(2, [&](const comm::Communicator& comm) {
      options.save = path("before/" + name);
      Steps steps(comm, options, planner);
      steps.take(0, 3);
      steps.checkpoints.save(steps.tables, *steps.dense);
      costs = steps.checkpoints.saved();
      steps.options.save = path("whole/" + name);
      steps.take(3, 6);
      steps.checkpoints.save(steps.tables, *steps.dense);
    });
    return costs;
  }

  /// Restores "before/NAME" and saves it again, then takes 3 more steps where these are to be compared.
  void expect_same(RunOptions options, int ranks, std::string_view planner, const std::string& name,
                   bool compare_steps) const {
    const std::string text = name + " on " + std::to_string(ranks) + " ranks by " + std::string(planner);
    on_ranks(ranks, [&](const comm::Communicator& comm) {
      options.restore = path("before/" + name);
      options.save = path("again");
      Steps steps(comm, options, planner);
      steps.take(0, 1);  // so that what is not restored is not what was first there
      EXPECT_EQ(steps.checkpoints.restore(steps.tables, *steps.dense), 3);
      steps.checkpoints.save(steps.tables, *steps.dense);
      steps.checkpoints.finish();  // a thread looks for older checkpoints
      expect_equal(comm, "before/" + name, text);
      if (!compare_steps) return;
      steps.take(3, 6);
      steps.checkpoints.save(steps.tables, *steps.dense);
      steps.checkpoints.finish();
      expect_equal(comm, "whole/" + name, text + ", 6 steps");
    });
  }

  void expect_equal(const comm::Communicator& comm, const std::string& wanted, const std::string& text) const {
    if (comm.rank() == 0) {
      const datasets::CheckpointReader a(path(wanted)), b(path("again"));
      EXPECT_EQ(a.manifest().step, b.manifest().step) << text;
      for (const datasets::ArrayDifference& each : datasets::differences(a, b))
        ADD_FAILURE() << text << ": " << each.path << ": " << each.rows << " rows differ, from " << each.first_row;
      EXPECT_EQ(b.damages(), std::vector<std::string>{}) << text;
    }
    comm::barrier(comm);
    if (comm.rank() == 0) fs::remove_all(path("again"));
    comm::barrier(comm);
  }

 private:
  fs::path folder_;
};

RunOptions six_steps(RunOptions options) {
  options.checked_steps = 6;
  return options;
}

TEST_F(Saved, ExactStepsGoOnOnAnyRanksUnderAnyPlan) {
  RunOptions options = six_steps(small_case(Pooling::sum, OptimizerKind::sgd, true));
  options.workload.tables[2].rows = 150'000;  // several blocks, and on one rank more than one round
  for (const std::string_view saved_by : {"row_wise", "column_wise"}) {
    take_all(options, saved_by, std::string(saved_by));
    for (const int ranks : {1, 3, 4})
      for (const std::string_view planner : {"row_wise", "table_wise", "column_wise", "data_parallel"})
        expect_same(options, ranks, planner, std::string(saved_by), true);
  }
}

TEST_F(Saved, RowsAndStateOfAnyKindComeBack) {
  std::size_t turn = 0;
  for (const OptimizerKind kind :
       {OptimizerKind::none, OptimizerKind::rowwise_adagrad, OptimizerKind::adam, OptimizerKind::lamb})
    for (const ValueType type : {ValueType::fp32, ValueType::fp16, ValueType::bf16}) {
      RunOptions options = six_steps(small_case(Pooling::sum, kind, false, type));
      for (Table& table : options.workload.tables) table.stochastic_rounding = type != ValueType::fp32;
      const std::string_view planner = split_planners[turn++ % split_planners.size()];
      const std::string name = std::string(name_of(kind)) + " " + std::string(name_of(type));
      take_all(options, planner, name);
      expect_same(options, 2, planner, name, true);
      for (const int ranks : {1, 3, 4})
        expect_same(options, ranks, split_planners[(turn + static_cast<std::size_t>(ranks)) % split_planners.size()],
                    name, false);
    }
}

TEST_F(Saved, CoresOfTensorTrainsAndLayersComeBack) {
  RunOptions options = six_steps(small_tts(Pooling::sum, OptimizerKind::adam, false, ValueType::bf16));
  for (Table& table : options.workload.tables)
    table.tensor_train.cache = {.rows = 16, .writes = CacheWrites::read_only, .populate_every = 2};
  take_all(options, "table_wise", "tt");
  expect_same(options, 2, "table_wise", "tt", true);
  for (const int ranks : {1, 3, 4}) expect_same(options, ranks, "data_parallel", "tt", false);

  RunOptions layers = dense_case(DenseKind::dlrm, Pooling::sum, OptimizerKind::adagrad);
  layers.dense.optimizer = OptimizerKind::adam;
  layers = six_steps(layers);
  take_all(layers, "row_wise", "dlrm");
  expect_same(layers, 2, "row_wise", "dlrm", true);
  for (const int ranks : {1, 3}) expect_same(layers, ranks, "table_wise", "dlrm", false);
}

/// Steps update most rows that they name while these wait for their round.
TEST_F(Saved, ASaveBehindTheStepsHasTheRowsOfItsStep) {
  if (!host_reaches_arrays) GTEST_SKIP() << "rows are kept on hosts";
  std::size_t turn = 0;
  for (const std::string_view planner : split_planners) {
    const OptimizerKind kind = turn++ % 2 == 0 ? OptimizerKind::adagrad : OptimizerKind::lamb;
    RunOptions options =
        six_steps(small_case(Pooling::sum, kind, false, turn % 3 == 0 ? ValueType::bf16 : ValueType::fp32));
    options.workload.tables[2].rows = 150'000;
    on_ranks(3, [&](const comm::Communicator& comm) {
      options.save = path("stop");
      Steps stopping(comm, options, planner);
      stopping.take(0, 3);
      stopping.checkpoints.save(stopping.tables, *stopping.dense);
      options.save = path("again");
      options.save_mode = SaveMode::behind;
      Steps behind(comm, options, planner);
      behind.take(0, 3);
      behind.checkpoints.save(behind.tables, *behind.dense);
      for (std::int64_t step = 3; step < 6; ++step)  // of which the save goes on behind the last
        behind.ready.step(behind.inputs[static_cast<std::size_t>(step)]);
      behind.checkpoints.took(behind.inputs[5]);
      behind.checkpoints.finish();
      const CheckpointCosts& costs = behind.checkpoints.saved();
      EXPECT_EQ(costs.times, 1);
      EXPECT_EQ(costs.behind.steps, 1);
      EXPECT_EQ(costs.between.steps, 2) << "behind the first one";
      EXPECT_GT(costs.ended, 0.0);
      EXPECT_LT(costs.longest, costs.seconds);
      expect_equal(comm, "stop", std::string(planner));
      if (comm.rank() == 0) fs::remove_all(path("stop"));
    });
  }
}

TEST_F(Saved, RowsTravelToTheirBlocksAndNoFarther) {
  const RunOptions options = six_steps(small_case(Pooling::sum, OptimizerKind::adagrad, false));
  const CheckpointCosts replicated = take_all(options, "data_parallel", "replicated");
  const CheckpointCosts split = take_all(options, "column_wise", "split");
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank >= 2) return;
  EXPECT_EQ(replicated.sent, 0);
  std::int64_t bytes = 0;  // rows, with as much state
  for (const Table& table : options.workload.tables) bytes += 8 * table.rows * table.dim;
  EXPECT_EQ(split.bytes, bytes);
  if (ranks > 1) {
    EXPECT_GT(split.sent, bytes / 4);
  }
  EXPECT_LT(split.sent, bytes);
}

TEST_F(Saved, CeilingsMoveAsManyBytesAndLeaveNothing) {
  on_ranks(3, [&](const comm::Communicator& comm) {
    if (comm.rank() == 0) fs::create_directories(path("files"));
    comm::barrier(comm);
    const FileTraffic written = write_in_order(comm, path("files"), (std::int64_t{5} << 20) + comm.rank());
    EXPECT_EQ(written.bytes, comm.size() * (std::int64_t{5} << 20) + comm.size() * (comm.size() - 1) / 2);
    EXPECT_GT(written.seconds, 0.0);
    EXPECT_TRUE(fs::is_empty(path("files")));
    EXPECT_THROW(write_in_order(comm, path("nowhere"), 1), InputError);
    comm::barrier(comm);
    const std::vector<std::string> files{path("files/a"), path("files/b")};
    if (comm.rank() == 0) write_file(files[0], std::string(3'000'001, 'a')), write_file(files[1], "b");
    comm::barrier(comm);
    EXPECT_EQ(read_in_order(comm, files).bytes, 3'000'002);
    EXPECT_EQ(cached_share(comm, files), 1.0);
    drop_cached(comm, files);  // as far as the file system takes them from a disk
    EXPECT_EQ(read_in_order(comm, files).bytes, 3'000'002);
    EXPECT_THROW(read_in_order(comm, {path("nowhere")}), InputError);
    EXPECT_THROW(cached_share(comm, {path("nowhere")}), InputError);
  });
}

/// Returns a few ids of many rows a step, so that some come back and some leave, of tables beside one of all rows.
RunOptions coming_and_going(RunOptions options, std::string_view admit, std::string_view evict, std::int64_t capacity) {
  options = six_steps(std::move(options));
  for (std::size_t t = 0; t < options.workload.tables.size(); ++t) {
    Table& table = options.workload.tables[t];
    if (t == 4) continue;
    table.storage = Storage::dynamic;
    table.dynamic = {reference::admission_named(admit), reference::eviction_named(evict, capacity)};
    table.any_key = t == 1;
  }
  options.workload.tables[2].rows = 40'000;
  options.workload.features[2].hotness = 120;
  options.workload.ids.distribution = IdDistribution::uniform;
  return options;
}

TEST_F(Saved, RowsThatComeAndGoGoOnOnAnyRanksUnderAnyPlan) {
  std::size_t turn = 0;
  for (const auto& [admit, evict, capacity] :
       {std::tuple("all", "none", 0), std::tuple("counter:2", "idle:1", 0), std::tuple("bloom:2:0.3", "lru", 28'672),
        std::tuple("bloom:300:0.3", "none", 0), std::tuple("counter:3", "lfu", 28'672)}) {
    const RunOptions options =
        coming_and_going(small_case(Pooling::sum, OptimizerKind::sgd, true), admit, evict, capacity);
    const std::string name = std::string(admit) + " " + evict;
    constexpr std::array planners{"row_wise", "table_wise", "column_wise"};
    take_all(options, planners[turn % planners.size()], name);
    for (const int ranks : {1, 3, 4}) expect_same(options, ranks, planners[++turn % planners.size()], name, true);
  }
  RunOptions rounded =
      coming_and_going(small_case(Pooling::sum, OptimizerKind::adam, false, ValueType::bf16), "counter:2", "idle:1", 0);
  for (Table& table : rounded.workload.tables) table.stochastic_rounding = true;
  rounded.workload.tables[0].value_type = ValueType::int8;
  rounded.workload.tables[0].optimizer.kind = OptimizerKind::none;
  take_all(rounded, "row_wise", "rounded");
  expect_same(rounded, 2, "row_wise", "rounded", true);
  expect_same(rounded, 3, "column_wise", "rounded", false);
}

/// Keys come and leave behind each save while its rows wait for their rounds: of all, then of what has changed twice.
TEST_F(Saved, ASaveBehindTheStepsHasTheKeysOfItsStep) {
  if (!host_reaches_arrays) GTEST_SKIP() << "rows are kept on hosts";
  std::size_t turn = 0;
  for (const auto& [admit, evict, capacity] :
       {std::tuple("all", "idle:1", 0), std::tuple("counter:2", "lru", 28'672),
        std::tuple("bloom:2:0.3", "lfu", 28'672), std::tuple("bloom:300:0.3", "none", 0)}) {
    const OptimizerKind kind = turn % 2 == 0 ? OptimizerKind::adagrad : OptimizerKind::lamb;
    const std::string_view planner = std::array{"row_wise", "column_wise", "table_wise"}[turn++ % 3];
    RunOptions options = coming_and_going(small_case(Pooling::sum, kind, false), admit, evict, capacity);
    options.workload.tables[4].rows = 150'000;
    options.workload.tables[0].value_type = ValueType::int8;
    options.workload.tables[0].optimizer.kind = OptimizerKind::none;
    options.save_kind = SaveKind::changes;
    on_ranks(3, [&, admit = admit](const comm::Communicator& comm) {
      const auto save_thrice = [&](SaveMode mode, const std::string& folder) {
        options.save_mode = mode;
        options.save = path(folder);
        Steps steps(comm, options, planner);
        for (const std::int64_t end : {2, 4, 5}) {
          steps.take(steps.tables.steps(), end);
          steps.checkpoints.save(steps.tables, *steps.dense);
        }
        steps.take(5, 6);
        steps.checkpoints.finish();
        EXPECT_EQ(steps.checkpoints.saved().times, 3);
        EXPECT_GE(steps.checkpoints.saved().behind.steps, mode == SaveMode::behind ? 3 : 0);
      };
      save_thrice(SaveMode::stop, "stop");
      save_thrice(SaveMode::behind, "behind");
      for (const std::int64_t step : {2, 4, 5})
        if (comm.rank() == 0) {
          const datasets::CheckpointReader a(datasets::step_folder(path("stop"), step)),
              b(datasets::step_folder(path("behind"), step));
          EXPECT_EQ(a.manifest().parent.has_value(), step > 2) << admit;
          EXPECT_EQ(a.manifest().parent.has_value(), b.manifest().parent.has_value()) << admit;
          EXPECT_EQ(a.manifest().arrays, b.manifest().arrays) << admit;
          for (const datasets::ArrayDifference& each : datasets::differences(a, b))
            ADD_FAILURE() << admit << ", step " << step << ": " << each.path << ": " << each.rows << " rows differ";
        }
      comm::barrier(comm);
      if (comm.rank() == 0) fs::remove_all(path(""));
      comm::barrier(comm);
    });
  }
}

TEST_F(Saved, EvaluationsChangeNothing) {
  const RunOptions options =
      coming_and_going(small_case(Pooling::sum, OptimizerKind::adagrad, false), "counter:2", "idle:1", 0);
  on_ranks(2, [&](const comm::Communicator& comm) {
    RunOptions saving = options;
    saving.save = path("whole/trained");
    Steps steps(comm, saving, "row_wise");
    steps.take(0, 3);
    steps.checkpoints.save(steps.tables, *steps.dense);
    const std::vector<std::int64_t> keys{0, 1, 2, -1, 77, std::int64_t{1} << 40};
    for (int evaluation = 0; evaluation < 1000; ++evaluation)
      for (std::int64_t s = 0; s < std::ssize(steps.tables.layout().shards); ++s)
        if (steps.tables.layout().shards[s].table < 4) steps.tables.store_of(s).read_rows(s, 0, keys);
    steps.options.save = path("again");
    steps.checkpoints.save(steps.tables, *steps.dense);
    steps.checkpoints.finish();
    expect_equal(comm, "whole/trained", "after evaluations");
  });
}

// The dump of HugeCTR writes 1 / dim of the rows, and on several ranks the values of other ones.
TEST_F(Saved, NoDumpIsPartial) {
  const RunOptions options =
      coming_and_going(small_case(Pooling::sum, OptimizerKind::adagrad, false), "all", "idle:1", 0);
  on_ranks(3, [&](const comm::Communicator& comm) {
    RunOptions saving = options;
    saving.save = path("dump");
    Steps steps(comm, saving, "row_wise");
    steps.take(0, 3);
    steps.checkpoints.save(steps.tables, *steps.dense);
    const datasets::CheckpointReader reader(path("dump"));
    for (std::int64_t t = 0; t < 4; ++t) {
      const auto& arrays = reader.manifest().arrays;
      const auto found = std::ranges::find(arrays, "/tables/t" + std::to_string(t), &datasets::SavedArray::path);
      ASSERT_NE(found, arrays.end());
      const datasets::SavedRows rows = reader.read({found - arrays.begin(), 0, found->rows});
      const std::vector<std::int64_t> keys = row_numbers(found->fields.front(), rows.front());
      std::vector<float> values(rows[2].size() / 4);
      std::memcpy(values.data(), rows[2].data(), rows[2].size());
      std::int64_t held = 0;
      for (std::int64_t s = 0; s < std::ssize(steps.tables.layout().shards); ++s) {
        if (steps.tables.layout().shards[s].table != t) continue;
        const Store& store = steps.tables.store_of(s);
        std::vector<std::int64_t> own;
        for (const LiveRow& row : store.live_rows(s)) own.push_back(row.key);
        held += std::ssize(own);
        const std::vector<float> stored = store.read_rows(s, 0, own).values;
        const auto dim = static_cast<std::size_t>(options.workload.tables[t].dim);
        for (std::size_t i = 0; i < own.size(); ++i) {
          const auto at = static_cast<std::size_t>(std::ranges::lower_bound(keys, own[i]) - keys.begin());
          ASSERT_TRUE(at < keys.size() && keys[at] == own[i]) << "key " << own[i] << " is not there";
          ASSERT_TRUE(std::equal(stored.begin() + i * dim, stored.begin() + (i + 1) * dim, values.begin() + at * dim));
        }
      }
      EXPECT_EQ(std::ssize(keys), comm::all_reduce(comm, held, comm::Reduce::sum));
    }
  });
}

/// Saves all rows of step 2 in "changes", and what steps 4 and 6 changed.
void save_changes(RunOptions options, std::string_view planner, const std::string& folder) {
  on_ranks(2, [&](const comm::Communicator& comm) {
    options.save = folder;
    options.save_kind = SaveKind::changes;
    Steps steps(comm, options, planner);
    for (const std::int64_t end : {2, 4, 6}) {
      steps.take(end - 2, end);
      steps.checkpoints.save(steps.tables, *steps.dense);
    }
  });
}

TEST_F(Saved, ChangesFollowEachOtherAndNoOther) {
  RunOptions options = six_steps(small_case(Pooling::sum, OptimizerKind::rowwise_adagrad, false, ValueType::bf16));
  options.workload.tables[2].rows = 150'000;
  options.workload.tables[0].optimizer.kind = OptimizerKind::none;
  RunOptions cores = six_steps(small_tts(Pooling::sum, OptimizerKind::adam, false));
  cores.workload.tables.push_back({.name = "large", .rows = 100'000, .dim = 4, .optimizer = {OptimizerKind::sgd}});
  cores.workload.features.push_back({.name = "of_large", .table = 5, .pooling = Pooling::sum, .hotness = 3});
  RunOptions coming =
      coming_and_going(small_case(Pooling::sum, OptimizerKind::adagrad, true), "counter:2", "lru", 28'672);
  coming.workload.tables[4].rows = 150'000;
  RunOptions hidden = coming;
  for (Table& table : hidden.workload.tables) table.dynamic.admission = reference::admission_named("bloom:2:0.3");
  for (const auto& [name, run, planner, other] : {std::tuple("dense", &options, "row_wise", "column_wise"),
                                                  std::tuple("tt", &cores, "table_wise", "data_parallel"),
                                                  std::tuple("coming", &coming, "row_wise", "column_wise"),
                                                  std::tuple("hidden", &hidden, "column_wise", "table_wise")}) {
    const std::string folder = path(std::string("changes ") + name);
    take_all(*run, planner, name);
    save_changes(*run, planner, folder);
    for (const int ranks : {1, 2, 3, 4})
      on_ranks(ranks, [&, &run = run, &other = other, &name = name](const comm::Communicator& comm) {
        RunOptions again = *run;
        again.restore = folder;
        again.save = path("again");
        Steps steps(comm, again, other);
        EXPECT_EQ(steps.checkpoints.restore(steps.tables, *steps.dense), 6);
        steps.checkpoints.save(steps.tables, *steps.dense);
        steps.checkpoints.finish();
        expect_equal(comm, std::string("whole/") + name, std::string("changes of ") + name);
      });
    on_ranks(1, [&, &name = name](const comm::Communicator& comm) {
      datasets::merge_checkpoints(folder, path("again"));
      EXPECT_THROW(datasets::merge_checkpoints(folder, path("again")), InputError) << "it is there";
      expect_equal(comm, std::string("whole/") + name, std::string("merged changes of ") + name);
    });
  }
  const std::string folder = path("changes dense");
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank > 0) return;
  const datasets::Manifest all = datasets::read_manifest(datasets::step_folder(folder, 2)),
                           changes = datasets::read_manifest(datasets::step_folder(folder, 6));
  EXPECT_FALSE(all.parent);
  EXPECT_EQ(changes.parent->step, 4);
  EXPECT_LT(changes.bytes(), all.bytes() / 50);
  for (const datasets::SavedArray& array : changes.arrays) {
    EXPECT_NE(array.path, "/tables/t0") << "which is not trained";
    EXPECT_EQ(array.fields.front().name, "row");
  }

  const auto refused = [&](const std::string& in, const std::string& part) {
    try {
      datasets::chain_of(in);
      ADD_FAILURE() << part;
    } catch (const InputError& error) {
      EXPECT_PRED_FORMAT2(testing::IsSubstring, part, error.what());
    }
  };
  EXPECT_EQ(datasets::chain_of(folder).size(), 3U);
  const std::string missing = path("missing"), foreign = path("foreign"), later = path("later");
  for (const std::string& copy : {missing, foreign, later}) fs::copy(folder, copy, fs::copy_options::recursive);
  fs::remove_all(datasets::step_folder(missing, 4));
  refused(missing, "step-00000006: holds what changed since step 4, and");
  refused(missing, "is missing; bring it back");
  fs::remove_all(datasets::step_folder(foreign, 2));
  fs::copy(datasets::step_folder(path("changes tt"), 2), datasets::step_folder(foreign, 2),
           fs::copy_options::recursive);
  refused(foreign, "step-00000002 is not what was there: its manifest has xxh64 ");
  fs::rename(datasets::step_folder(later, 6), datasets::step_folder(later, 3));  // in another order
  fs::remove_all(datasets::step_folder(later, 4));
  refused(later, "step-00000003: holds what changed since step 4");
}

TEST_F(Saved, AnotherModelIsRefusedByName) {
  const RunOptions options = six_steps(small_case(Pooling::sum, OptimizerKind::sgd, true));
  const placement::Plan plan = plan_of("table_wise", options, 1);
  const auto error = [&](const std::function<void(RunOptions&)>& change) -> std::string {
    RunOptions other = options;
    change(other);
    try {
      require_same_run(run_facts(options, plan, 3), run_facts(other, plan_of("row_wise", other, 3), 3),
                       "the checkpoint");
    } catch (const InputError& refused) {
      return refused.what();
    }
    return "";
  };
  const auto expect = [&](const std::function<void(RunOptions&)>& change, const std::string& part) {
    EXPECT_PRED_FORMAT2(testing::IsSubstring, "the checkpoint: is of another model: " + part, error(change));
  };
  EXPECT_EQ(error([](RunOptions& other) { other.save_every = 7; }), "");
  expect([](RunOptions& other) { other.workload.tables[1].dim = 32; },
         "table t1: dim 16 there and 32 here; restore it");
  expect([](RunOptions& other) { other.workload.tables[2].optimizer.kind = OptimizerKind::adam; },
         "table t2: optimizer name sgd there and adam here");
  expect([](RunOptions& other) { other.workload.tables[4].value_type = ValueType::bf16; },
         "table t4: value_type fp32 there and bf16 here");
  expect(
      [](RunOptions& other) {
        make_tt(other.workload.tables[1], {7, 8}, {4, 4}, {3}, {});
      },
      "table t1: storage dense there and tt here");
  expect([](RunOptions& other) { other.workload.tables[0].name = "users"; }, "table users is not there");
  expect(
      [](RunOptions& other) {
        other.workload.tables.pop_back();
        other.workload.features.pop_back();
        other.workload.features.pop_back();
      },
      "table t4 is not here");
  expect([](RunOptions& other) { other.seed = 8; }, "seed 7 there and 8 here");
  expect([](RunOptions& other) { other.workload.global_batch = 74; }, "batch 37 there and 74 here");
  expect([](RunOptions& other) { other.workload.features[1].hotness = 3; }, "its features are others");

  RunOptions cached = small_tts(Pooling::sum, OptimizerKind::adam, false);
  for (Table& table : cached.workload.tables)
    table.tensor_train.cache = {.rows = 16, .writes = CacheWrites::trained, .populate_every = 2};
  on_ranks(2, [&](const comm::Communicator& comm) {
    cached.save = path("cached");
    Steps steps(comm, cached, "table_wise");
    EXPECT_THROW(steps.checkpoints.save(steps.tables, *steps.dense), InputError);
    comm::barrier(comm);
    EXPECT_TRUE(datasets::saved_steps(path("cached")).empty());
  });
}

}  // namespace
}  // namespace shardmark::workloads
