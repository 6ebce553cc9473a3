// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "comm/placement/planner.hpp"
#include "datasets/cores_file.hpp"
#include "reference/tensor_train/initial_cores.hpp"
#include "workloads/cases/case.hpp"
#include "workloads/cases/test/kaggle_options.hpp"

namespace shardmark::workloads {
namespace {

nlohmann::ordered_json case_options_of(const RunOptions& run, const Case& config) {
  return case_options(run, config,
                      placement::make_plan("row_wise", run.workload.tables, run.workload.features, {.ranks = 2}));
}

TEST(Options, SettingsReachTheirPlace) {
  const RunOptions options =
      with({"seed=5", "beta1=0.75", "weight_decay_mode=decoupled", "hotness=3", "dim=8", "learning_rate=0.25",
            "ids.alpha=1.2", "ids.shuffled=true", "fault=route", "batches=2"});
  EXPECT_EQ(5u, options.seed);
  EXPECT_EQ(0.75F, options.workload.tables.front().optimizer.beta1);
  EXPECT_EQ(WeightDecay::decoupled, options.workload.tables.back().optimizer.weight_decay_mode);
  EXPECT_EQ(3, options.workload.features.front().hotness);
  EXPECT_EQ(8, options.workload.tables.back().dim);
  EXPECT_EQ(0.25F, options.workload.tables.back().optimizer.learning_rate);
  EXPECT_EQ(1.2, options.workload.ids.alpha);
  EXPECT_TRUE(options.workload.ids.shuffled);
  EXPECT_EQ(Fault::route, options.fault);
  EXPECT_EQ(2, options.batches);
}

TEST(Options, DurationsHaveUnits) {
  EXPECT_EQ(with({"budget=2m"}).budget, Seconds(120.0));
  EXPECT_EQ(with({"budget=1.5h"}).budget, Seconds(5400.0));
  EXPECT_EQ(with({"budget=90s"}).budget, Seconds(90.0));
  EXPECT_EQ(with({"budget=90"}).budget, Seconds(90.0));
  EXPECT_EQ(with({"budget=90", "budget=none"}).budget, std::nullopt);
  for (const char* text : {"0s", "-1m", "m", "2d", "1e400s", "2 m", "nan"})
    EXPECT_THROW(seconds_in(text), InputError) << text;
}

TEST(Options, TheLastValueCounts) {
  const RunOptions options = with({"hotness=3", "scale=1/4", "hotness=2", "scale=1/8"});
  EXPECT_EQ(2, options.workload.features.front().hotness);
  EXPECT_EQ(8, options.workload.scale);
}

TEST(Options, SeveralValuesMakeAllCombinations) {
  RunOptions run = with({});
  std::vector<Case> cases(1);
  set_options(run, cases,
              {given_setting("dedup=off,local", true), given_setting("wire=fp16", true),
               given_setting("group_balance=all", true), given_setting("groups=table", true)});
  ASSERT_EQ(4u, cases.size());
  EXPECT_EQ("auto mpi_alltoallv, wire_forward fp16, wire_backward fp16, dedup off, groups table", cases[0].name());
  EXPECT_EQ(placement::Dedup::local, cases[3].movement.dedup);
  EXPECT_EQ(placement::GroupBalance::bytes, cases[3].groups.balance);
}

TEST(Options, StoragesMakeCasesOfDifferentTables) {
  RunOptions run = with({});
  std::vector<Case> cases(1);
  set_options(run, cases, {given_setting("wire_backward=bf16", true), given_setting("storage=dense,tt", true)});
  ASSERT_EQ(2u, cases.size());
  EXPECT_EQ("auto mpi_alltoallv, wire_backward bf16, storage tt", cases[1].name());
  for (const Table& table : run.workload.tables) EXPECT_EQ(Storage::dense, table.storage);  // as the workload says
  for (const Table& table : with_storage(run, cases[1].storage).workload.tables) EXPECT_EQ(Storage::tt, table.storage);
  EXPECT_EQ(case_options_of(run, cases[0]).at("storage"), "dense");
  EXPECT_EQ(case_options_of(run, cases[1]).at("storage"), "tt");
  EXPECT_EQ(changed_options(run, cases[0]), std::vector<std::string>{"wire_backward"});
  EXPECT_EQ(changed_options(run, cases[1]), (std::vector<std::string>{"wire_backward", "storage"}));
}

TEST(Options, WithoutAStorageEachTableKeepsItsOwn) {
  RunOptions run = with({});
  run.workload.tables[2].storage = Storage::tt;
  EXPECT_EQ(case_options_of(run, {}).at("storage").dump(), R"(["dense","tt"])");
  EXPECT_EQ(with_storage(run, {}).workload.tables[2].storage, Storage::tt);
  EXPECT_EQ(with({"storage=tt"}).workload.tables[2].storage, Storage::tt);
}

TEST(Options, ACaseTellsAllThatHasAUseAndWhatOfItIsChanged) {
  const RunOptions run = with({"dim=16", "hotness=20", "dtype=fp16", "learning_rate=0.5", "seed=9", "batches=4"});
  Case config{.movement = {.transfer = placement::RowTransfer::automatic, .wire_ids = placement::WireIds::int64},
              .groups = {.groups = placement::TableGroups::table}};
  const auto options = case_options_of(run, config);
  for (const Option& option : workloads::options()) {
    const bool of_any_keys = option.name == "ids.new" || option.name == "ids.half_life";
    const bool told = option.get && !of_any_keys && option.group != OptionGroup::schedule &&
                      option.group != OptionGroup::data && option.group != OptionGroup::of_storage &&
                      option.group != OptionGroup::dense;
    EXPECT_EQ(told, options.contains(option.name)) << option.name;
  }
  EXPECT_EQ(options.at("dim"), 16);
  EXPECT_EQ(options.at("dtype"), "fp16");
  EXPECT_EQ(options.at("groups"), 26);
  EXPECT_EQ(options.at("wire_ids"), "int64");
  EXPECT_EQ(options.at("learning_rate"), 0.5);
  EXPECT_EQ(options.at("exact"), false);
  EXPECT_EQ(changed_options(run, config),
            (std::vector<std::string>{"wire_ids", "groups", "dtype", "learning_rate", "hotness", "batches"}));
  EXPECT_EQ(
      schedule_options(run).dump(),
      R"({"seed":9,"steps":"auto","seconds":5.0,"budget":"none","train":"auto","save":"none","save_every":"end","save_kind":"full","save_mode":"stop","restore":"none","disk_ceiling":false,"check":2})");
}

TEST(Options, TensorTrainsAreSetByThemselves) {
  const RunOptions run =
      with({"storage=tt", "tt.cores=4", "tt.row_shape=200,220,250,1", "tt.dim_shape=1,1,4,4", "tt.ranks=8,16,8",
            "tt.initializer=approx_normal", "tt.variance=0.5", "tt.direction=suffix", "tt.slice_sums=unordered",
            "tt.fused_update=false", "tt.workspace_mib=64", "tt.cache_rows=100", "tt.count_slots=300",
            "tt.cache_writes=read_only", "tt.populate_every=4"});
  for (const Table& table : run.workload.tables) {
    const TensorTrain wanted{.cores = 4,
                             .row_shape = {200, 220, 250, 1},
                             .dim_shape = {1, 1, 4, 4},
                             .ranks = {8, 16, 8},
                             .initializer = CoreInitializer::approx_normal,
                             .variance = 0.5,
                             .direction = ContractionDirection::suffix,
                             .slice_sums = SliceSums::unordered,
                             .fused_update = false,
                             .workspace_mib = 64,
                             .cache = {100, 300, CacheWrites::read_only, 4}};
    EXPECT_EQ(table.tensor_train, wanted);
    EXPECT_EQ(table.storage, Storage::tt);
  }
  const auto options = case_options_of(run, {});
  EXPECT_EQ(options.at("tt.ranks"), "8,16,8");
  EXPECT_EQ(options.at("tt.cores"), 4);
  for (const Option& option : workloads::options())
    if (option.group == OptionGroup::of_storage) {
      EXPECT_EQ(options.contains(option.name), option.storage() == "tt") << option.name;
    }
  EXPECT_EQ(changed_options(run, {}).size(), 14U + 1U);  // and storage
}

TEST(Options, DynamicTablesAreSetByThemselves) {
  const RunOptions run =
      with({"storage=dynamic", "capacity=2M", "admit=bloom:3:0.01", "evict=idle:4000", "absent=initial"});
  for (const Table& table : run.workload.tables) {
    EXPECT_EQ(table.storage, Storage::dynamic);
    EXPECT_EQ(table.dynamic, (DynamicRules{{.kind = AdmissionKind::bloom, .uses = 3, .false_positives = 0.01},
                                           {.kind = EvictionKind::idle, .threshold = 4000.0, .capacity = 2'000'000},
                                           AbsentRows::initial}));
  }
  const auto options = case_options_of(run, {});
  EXPECT_EQ(options.at("admit"), "bloom:3:0.01");
  EXPECT_EQ(options.at("evict"), "idle:4000");
  EXPECT_EQ(options.at("capacity"), 2'000'000);
  EXPECT_EQ(changed_options(run, {}), (std::vector<std::string>{"storage", "admit", "evict", "capacity", "absent"}));
  for (const auto& [settings, words] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"admit=counter:3"}, "no table has storage dynamic; use --storage dynamic"},
           {{"storage=dynamic", "admit=count:3"}, "did you mean 'counter'?"},
           {{"storage=dynamic", "evict=lru"}, "eviction 'lru': it needs a capacity"},
           {{"storage=dynamic", "evict=lru", "capacity=100"}, "'100' is not none or a number of at least 4096"},
           {{"storage=dynamic", "capacity=5000"}, "a capacity needs an eviction, such as lru"},
           {{"storage=dynamic", "evict=l2:0.5"}, "use exact=true, sgd, sum pooling and fp32 on the wire"}})
    try {
      with(settings);
      ADD_FAILURE() << settings.back();
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(words), std::string::npos) << error.what();
    }
}

TEST(Options, ListsAreNumbersWithCommas) {
  const auto ranks = [](const std::string& text) {
    return with({"storage=tt", "tt.ranks=" + text}).workload.tables.front().tensor_train.ranks;
  };
  EXPECT_EQ(ranks("8"), (std::vector<std::int64_t>{8}));
  EXPECT_EQ(ranks("8,16,4"), (std::vector<std::int64_t>{8, 16, 4}));
  EXPECT_EQ(ranks("auto"), std::vector<std::int64_t>{});
  EXPECT_EQ(with({"storage=tt", "tt.ranks=8", "tt.ranks=auto"}).workload.tables.front().tensor_train.ranks.size(), 0U);
  EXPECT_EQ(case_options_of(with({"storage=tt"}), {}).at("tt.ranks"), "auto");
  for (const char* text :
       {"[8,16]", "8,", ",8", "", "8 16", "8;16", "8,0", "8,-1", "8.5", "8,,16", "9999999999999999999"})
    try {
      ranks(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("such as 8,16 (no brackets)"), std::string::npos) << error.what();
      EXPECT_NE(std::string(error.what()).find("tt.ranks"), std::string::npos) << error.what();
    }
}

TEST(Options, ImportedCoresBringTheirShapeAndAreTheInitialOnes) {
  const std::string file = testing::TempDir() + "shardmark_cores.h5";
  RunOptions run;
  run.workload = load_workload("fbtt", "1/100000");
  Table& table = run.workload.tables.front();  // 110 rows x 64
  std::vector<float> values;
  for (std::int64_t i = 0; i < table.rows * table.dim; ++i) values.push_back(static_cast<float>(i % 97));
  Table requested = table;
  requested.tensor_train = {.cores = 4, .ranks = {3, 5, 4}};
  const datasets::DecomposedTable tt = datasets::tt_svd(requested, values);
  datasets::write_cores(file, requested, tt);
  table.tensor_train = {};
  const RunOptions before = run;
  apply_settings(run, {"tt.import=" + file});
  EXPECT_EQ(tensor_train_shape(table), tt.shape);
  for (int t = 0; t < 4; ++t) EXPECT_EQ(initial_core(table, tt.shape, 0, t, run.row_values()), tt.cores[t]);
  const auto refusal = [&](const std::vector<std::string>& settings) -> std::string {
    RunOptions again = before;
    try {
      apply_settings(again, settings);
    } catch (const InputError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_EQ(refusal({"tt.import=" + file, "tt.ranks=3,5,4", "tt.cores=4"}), "accepted");
  EXPECT_NE(refusal({"tt.import=" + file, "tt.ranks=3"}).find("leave tt.row_shape"), std::string::npos);
  EXPECT_NE(refusal({"tt.import=" + file, "exact=true"}).find("exact: table T1"), std::string::npos);
  EXPECT_NE(refusal({"tt.import=" + file, "scale=1/2"}).find("table T1 has 55 of 64"), std::string::npos);
  EXPECT_NE(refusal({"tt.import=/nonexistent"}).find("/nonexistent: no such file"), std::string::npos);
  std::filesystem::remove(file);
}

TEST(Options, SmallTablesStayDense) {
  const auto dense = [](const std::vector<std::string>& settings) {
    const RunOptions run = with(settings);
    return std::ranges::count(run.workload.tables, Storage::dense, &Table::storage);
  };
  EXPECT_EQ(dense({"storage=tt"}), 0);
  const std::int64_t small = dense({"storage=tt", "tt.min_rows=1000000"});
  const auto all = load_workload("criteo-kaggle").tables;
  EXPECT_EQ(small, std::ranges::count_if(all, [](const Table& table) { return table.rows < 1'000'000; }));
  EXPECT_GT(small, 10);
  EXPECT_GT(dense({"tt.min_rows=1000000", "storage=tt", "scale=1/8"}), small);
  const auto storages = case_options_of(with({"storage=tt", "tt.min_rows=1000000"}), {}).at("storage");
  EXPECT_EQ(storages.dump(), R"(["dense","tt"])");
}

TEST(Options, TensorTrainOptionsNeedATensorTrain) {
  for (const auto& settings :
       std::vector<std::vector<std::string>>{{"tt.ranks=8"}, {"storage=tt", "tt.ranks=8", "tt.min_rows=99000000"}})
    try {
      with(settings);
      ADD_FAILURE() << settings.front() << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find("tt.ranks=8: no table has storage tt"), std::string::npos)
          << error.what();
    }
}

TEST(Options, TablesThatDifferAreAList) {
  RunOptions run = with({});
  run.workload.tables[3].dim = 64;
  run.workload.tables[5].optimizer.kind = OptimizerKind::adam;
  EXPECT_EQ(case_options_of(run, {}).at("dim").dump(), "[16,64]");
  EXPECT_EQ(case_options_of(run, {}).at("optimizer").dump(), R"(["rowwise_adagrad","adam"])");
}

TEST(Options, ExactModeMakesRatesPowersOfTwoAndValuesMultiplesOfOneUnit) {
  const RunOptions options = with({"learning_rate=0.01", "exact=true"});
  EXPECT_EQ(0x1p-7F, options.workload.tables.front().optimizer.learning_rate);
  EXPECT_EQ(0x1p-7F * options.gradients().unit, options.row_values().unit);
  EXPECT_EQ(0.0F, with({}).row_values().unit);
}

TEST(Options, BadSettingsAreNamed) {
  for (const char* text : {"seed",
                           "seed=",
                           "seed=x",
                           "seed=-1",
                           "seed=1.5",
                           "exact=yes",
                           "hotness=-1",
                           "dim=0",
                           "weight_decay_mode=l1",
                           "nonsense=1",
                           "ids.alpha=nan",
                           "learning_rate=-1",
                           "storage=nosuch",
                           "groups=0",
                           "steps=0",
                           "seconds=0",
                           "seconds=inf",
                           "scale=0",
                           "wire=fp17",
                           "check=none",
                           "tt.cores=1",
                           "tt.initializer=x",
                           "tt.compression=0",
                           "tt.cache_rows=0",
                           "ids.shift=-1",
                           "drift=0.1",
                           "drift=1.5/8",
                           "drift=0.1/0",
                           "overlap=1.5",
                           "overlap=-0.1"}) {
    try {
      with({text});
      ADD_FAILURE() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(std::string(text).substr(0, std::string(text).find('='))),
                std::string::npos)
          << error.what();
    }
  }
}

TEST(Options, EveryOptionAcceptsWhatItSaysAndWhatIsSetComesBack) {
  for (const Option& option : options())
    for (const NamedValue& value : option.values) {
      RunOptions run = with({});
      Case config;
      option.set(run, config, value.name);
      if (option.get) {
        EXPECT_EQ(option.get(run, config), value.name) << option.name;
      }
    }
}

}  // namespace
}  // namespace shardmark::workloads
