// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "comm/placement/test/counted_batch.hpp"
#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_generate.hpp"
#include "workloads/batches/workload_statistics.hpp"

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

/// A generated file of 8,000 samples, and the tables of criteo-kaggle at 1/64.
class StatisticsOfData : public testing::Test {
 protected:
  static constexpr std::int64_t all = 8000;

  StatisticsOfData()
      : folder(fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name()),
        workload(load_workload("criteo-kaggle", "1/64")) {
    fs::remove_all(folder);
    fs::create_directories(folder);
    data.file = (folder / "samples.tsv").string();
    datasets::generate_criteo(data.file, {.samples = all, .rows = datasets::criteo_cardinalities[0].rows},
                              [](std::int64_t) {});
  }
  ~StatisticsOfData() override { fs::remove_all(folder); }

  placement::MeasuredIds measured() {
    return measured_ids_of(workload, data, [this](const std::string& text) { notices.push_back(text); });
  }
  fs::path kept() const { return statistics_file(data.file); }
  datasets::SourceOptions source() const {
    return {.rows = rows_of_features(workload), .rule = data.id_rule, .min_count = data.min_count, .reader = {}};
  }

  fs::path folder;
  Workload workload;
  DataOptions data;
  std::vector<std::string> notices;
};

/// Each batch differs from the expectation by its spread, which for counts is at most that of Poisson's law.
TEST_F(StatisticsOfData, ExpectWhatBatchesLookUp) {
  constexpr std::int64_t batch = 500;
  for (const datasets::IdRule rule : {datasets::IdRule::modulo, datasets::IdRule::frequency}) {
    data.id_rule = rule;
    const placement::LookupStatistics statistics = lookup_statistics_of(workload, data, [](const std::string&) {});
    const auto samples = datasets::open_samples(data.file, source(), [](const std::string&) {});
    for (const bool modulo : {true, false}) {
      placement::Plan plan{.name = "split", .ranks = 4, .tables = {}};
      for (const Table& table : workload.tables) {
        placement::TablePlacement& placement = plan.tables.emplace_back();
        for (std::int64_t k = 0; k < 4; ++k) {
          const placement::RowSet rows = modulo ? placement::RowSet{std::min(k, table.rows), table.rows, 4}
                                                : placement::RowSet{k * table.rows / 4, (k + 1) * table.rows / 4, 1};
          if (rows.count() > 0) placement.shards.push_back({rows, 0, table.dim, static_cast<int>(k)});
        }
      }
      datasets::Samples some;
      for (const std::int64_t first : {0, 3000}) {
        samples->read(first, batch, some);
        const placement::PlanCounts counts = placement::counts_of(plan, workload.tables, workload.features, some.batch);
        for (std::int64_t t = 0; t < std::ssize(workload.tables); ++t)
          for (std::size_t s = 0; s < counts[t].size(); ++s) {
            SCOPED_TRACE(testing::Message() << "table " << t << ", shard " << s << (modulo ? ", mod" : ", block"));
            const placement::ShardCounts& expected = statistics.expected(t, plan.tables[t].shards[s].rows, batch);
            EXPECT_DOUBLE_EQ(counts[t][s].bags, expected.bags);
            const auto near = [](double count, double mean) { EXPECT_NEAR(count, mean, 5 * std::sqrt(mean) + 3); };
            near(counts[t][s].ids, expected.ids);
            near(counts[t][s].touched_bags, expected.touched_bags);
            near(counts[t][s].distinct_rows, expected.distinct_rows);
          }
      }
    }
  }
}

TEST_F(StatisticsOfData, AreTheSameFromTextAndHdf5) {
  const placement::MeasuredIds text = measured();
  const std::string file = (folder / "samples.h5").string();
  datasets::convert_criteo(data.file, file, datasets::IdMapping::modulo(rows_of_features(workload)), {},
                           [](std::int64_t) {});
  data.file = file;
  EXPECT_EQ(measured(), text);
  EXPECT_EQ(text.samples, all);
  EXPECT_TRUE(fs::exists(file + ".statistics.json"));
  EXPECT_TRUE(notices.empty());
}

TEST_F(StatisticsOfData, AreKeptUntilTheDataChange) {
  const placement::MeasuredIds first = measured();
  const auto written = fs::last_write_time(kept());
  fs::last_write_time(kept(), written - std::chrono::hours(1));
  EXPECT_EQ(measured(), first);
  EXPECT_EQ(fs::last_write_time(kept()), written - std::chrono::hours(1)) << "written again";
  fs::last_write_time(data.file, fs::last_write_time(data.file) + std::chrono::seconds(2));
  EXPECT_EQ(measured(), first);
  EXPECT_NE(fs::last_write_time(kept()), written - std::chrono::hours(1)) << "not written again";
  fs::remove(data.file);
  datasets::generate_criteo(data.file, {.samples = all / 2, .rows = datasets::criteo_cardinalities[0].rows},
                            [](std::int64_t) {});
  EXPECT_EQ(measured().samples, all / 2);
  workload = load_workload("criteo-kaggle", "1/128");
  const auto halves = measured().tables;
  EXPECT_EQ(halves[0].rows, workload.tables[0].rows);
  EXPECT_TRUE(notices.empty());
  data.id_rule = datasets::IdRule::frequency;
  EXPECT_NE(measured().tables, halves);
}

TEST_F(StatisticsOfData, ThatAreDamagedAreCountedAgain) {
  const placement::MeasuredIds sound = measured();
  for (const std::string damaged : {"", "{", "{\"format\": 7}", "[]", "{\"format\": \"shardmark-statistics/1\"}"}) {
    std::ofstream(kept()) << damaged;
    EXPECT_EQ(measured(), sound) << damaged;
  }
  std::string text;
  std::getline(std::ifstream(kept()), text);
  std::ofstream(kept()) << text.replace(text.find("\"samples\":8000"), 14, "\"samples\":8001");
  notices.clear();
  EXPECT_EQ(measured(), sound);
  ASSERT_EQ(notices.size(), 1U);
  EXPECT_NE(notices[0].find("contradict"), std::string::npos) << notices[0];
}

TEST_F(StatisticsOfData, AreUsedWhereTheyCannotBeKept) {
  fs::create_directory(kept());
  EXPECT_EQ(measured().samples, all);
  ASSERT_FALSE(notices.empty());
  EXPECT_NE(notices.back().find("not kept"), std::string::npos) << notices.back();
}

TEST_F(StatisticsOfData, ThatAreNotThereAreRefused) {
  data.file = (folder / "nosuch.tsv").string();
  EXPECT_THROW(measured(), InputError);
  std::ofstream(data.file).flush();
  EXPECT_THROW(measured(), InputError) << "no samples";
}

TEST(StatisticsOfWorkloads, AreTheirLaw) {
  const Workload workload = load_workload("criteo-kaggle", "1/64");
  const placement::IdStatistics ids = id_statistics_of(workload, {}, [](const std::string&) {});
  EXPECT_EQ(ids.measured, nullptr);
  EXPECT_DOUBLE_EQ(ids.alpha, workload.ids.alpha);
}

}  // namespace
}  // namespace shardmark::workloads
