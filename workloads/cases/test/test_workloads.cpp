// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <numeric>

#include "workloads/cases/placement_inputs.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {
namespace {

template <class Values, class Amount>
std::int64_t sum(const Values& values, Amount amount) {
  return std::accumulate(values.begin(), values.end(), std::int64_t{0},
                         [&](std::int64_t total, const auto& value) { return total + amount(value); });
}

std::int64_t bytes_of(const Workload& workload) {
  return sum(workload.tables, [](const Table& table) { return 4 * table.rows * table.dim; });
}

/// What is published of a workload, or follows from it; bytes are those of fp32 rows.
struct Totals {
  const char* name;
  std::int64_t tables, features, ids, width, bytes;
};
constexpr std::array published_totals{
    Totals{"synthetic-tiny", 55, 58, 85, 672, 4494725120},
    Totals{"synthetic-small", 107, 116, 377, 2512, 28232339200},
    Totals{"synthetic-medium", 311, 337, 1611, 17280, 221396582400},
    Totals{"synthetic-large", 612, 669, 6312, 36608, 830848128000},
    Totals{"synthetic-jumbo", 1022, 1097, 16022, 118400, 3338752128000},
    Totals{"synthetic-colossal", 2002, 2153, 47302, 336768, 23973888128000},
    Totals{"criteo-kaggle", 26, 26, 26, 26 * 16, 4 * 16 * 33762577LL},
    Totals{"open-vocabulary", 26, 26, 26, 26 * 16, 4 * 16 * 33762577LL},
    Totals{"criteo-terabyte", 26, 26, 26, 26 * 128, 4 * 128 * 882774559LL},
    Totals{"criteo-terabyte-40m", 26, 26, 26, 26 * 128, 4 * 128 * 187767399LL},
    Totals{"dlrm-dcnv2", 26, 26, 214, 26 * 128, 104542509056},
    Totals{"hugectr-dlrm", 26, 26, 26, 26 * 128, 625298432},
    Totals{"deeprec-dlrm", 26, 26, 26, 26 * 16, 16640000},
    Totals{"deeprec-dlrm-adaptive", 26, 26, 26, 26 * 16, 1218847360},
    Totals{"hybridbackend-ranking", 26, 26, 26, 664, 59484602384},
    Totals{"hybridbackend-taobao", 23, 23, 175, 348, 421426544},
};

TEST(Workloads, TotalsAreThePublishedOnes) {
  for (const Totals& expected : published_totals) {
    SCOPED_TRACE(expected.name);
    const Workload workload = load_workload(expected.name);
    EXPECT_EQ(std::ssize(workload.tables), expected.tables);
    EXPECT_EQ(std::ssize(workload.features), expected.features);
    EXPECT_EQ(sum(workload.features, [](const Feature& feature) { return feature.hotness; }), expected.ids);
    EXPECT_EQ(sum(output_widths(workload), [](std::int64_t width) { return width; }), expected.width);
    EXPECT_EQ(bytes_of(workload), expected.bytes);
  }
}

TEST(Workloads, HybridBackendHasThePublishedRangeOfDimsAndBytes) {
  const Workload workload = load_workload("hybridbackend-ranking");
  EXPECT_EQ(sum(workload.tables, [](const Table& table) { return table.rows; }), 187767399);
  const auto [least, most] = std::ranges::minmax_element(workload.tables, {}, &Table::dim);
  EXPECT_EQ(least->dim, 4);
  EXPECT_EQ(most->dim, 80);
  EXPECT_NEAR(static_cast<double>(bytes_of(workload)), 59.5e9, 0.05e9);
  EXPECT_EQ(workload.global_batch, 64000);
}

TEST(Workloads, SharedTablesAreReadOnceAndByWholeBags) {
  const Workload tiny = load_workload("synthetic-tiny");
  std::vector<std::vector<std::int64_t>> hotness(tiny.tables.size());
  for (const Feature& feature : tiny.features) hotness[feature.table].push_back(feature.hotness);
  for (std::size_t t = 0; t < hotness.size(); ++t)
    EXPECT_EQ(hotness[t], t < 3 ? (std::vector<std::int64_t>{1, 10}) : std::vector<std::int64_t>{1}) << t;
  EXPECT_EQ(tiny.global_batch, 65536);
  EXPECT_EQ(tiny.tables.back().optimizer.kind, OptimizerKind::adagrad);
  EXPECT_EQ(tiny.tables.back().name, "rows_1m_18");
  const Workload colossal = load_workload("synthetic-colossal");
  EXPECT_EQ(colossal.tables[150].rows, 2'000'000'000);
  EXPECT_EQ(sum(colossal.features, [](const Feature& feature) { return feature.hotness == 300 ? 1 : 0; }), 151);
}

TEST(Workloads, PublishedStepsAreInTheSpecs) {
  const auto times_of = [](const char* name) {
    std::vector<std::pair<int, double>> times;
    for (const PublishedStep& step : load_workload(name).published_steps) times.emplace_back(step.ranks, step.ms);
    return times;
  };
  using Times = std::vector<std::pair<int, double>>;
  EXPECT_EQ(times_of("synthetic-tiny"), (Times{{1, 24.433}, {8, 5.537}, {16, 4.867}}));
  EXPECT_EQ(times_of("synthetic-small"), (Times{{1, 67.355}, {8, 17.203}, {16, 12.461}, {32, 11.839}}));
  EXPECT_EQ(times_of("synthetic-medium"), (Times{{8, 63.393}, {16, 46.636}, {32, 37.732}, {128, 27.329}}));
  EXPECT_EQ(times_of("synthetic-large"), (Times{{32, 67.57}, {128, 37.934}}));
  EXPECT_EQ(times_of("synthetic-jumbo"), (Times{{128, 124.3}}));
  EXPECT_EQ(times_of("synthetic-colossal"), Times{});
  EXPECT_EQ(times_of("hugectr-dlrm"), (Times{{8, 103.45}, {8, 190.85}}));
}

TEST(Workloads, PublishedStepsSayHowTheyWereRun) {
  const auto steps = load_workload("hugectr-dlrm").published_steps;
  EXPECT_TRUE(steps[0].used && !steps[1].used);
  EXPECT_EQ(steps[1].evaluations, 0.63);
  EXPECT_FALSE(steps[1].ids_at_owners);
  for (const PublishedStep& step : load_workload("synthetic-large").published_steps)
    EXPECT_TRUE(step.ids_at_owners && !step.used && step.evaluations == 0.0) << step.ranks;
}

TEST(Workloads, TheRatioIsOfTwoPlansOnTheSameRanks) {
  const PublishedStep step{"m", 8, "a", 10.0, "theirs"};
  std::vector<PublishedStep> steps{step, step, step};
  EXPECT_FALSE(published_ratio(steps));
  steps[1].plan = "b";
  steps[1].ranks = 16;
  EXPECT_FALSE(published_ratio(steps));
  steps[2].plan = "b";
  steps[2].ms = 5.0;
  const auto ratio = published_ratio(steps);
  ASSERT_TRUE(ratio);
  EXPECT_EQ(ratio->fast, "b");
  EXPECT_EQ(ratio->slow, "a");
  EXPECT_EQ(ratio->ratio, 2.0);
  EXPECT_EQ(ratio->source, "theirs: 10 / 5 ms");
}

TEST(Workloads, EachCanBeScaledAndReadBack) {
  for (const std::string& name : builtin_workloads())
    for (const std::int64_t divisor : {64, 1'000'000}) {
      SCOPED_TRACE(name);
      const Workload whole = load_workload(name);
      const Workload scaled = load_workload(name, std::to_string(divisor));
      for (std::size_t t = 0; t < whole.tables.size(); ++t)
        ASSERT_EQ(scaled.tables[t].rows, (whole.tables[t].rows + divisor - 1) / divisor) << t;
      const auto json = to_json(scaled);
      EXPECT_EQ(json, to_json(workload_from_json(json, name)));
    }
}

TEST(Workloads, RequestsOfPlannersSayHowIdsAreDrawn) {
  Workload workload = load_workload("dlrm-dcnv2");
  const placement::PlanRequest request =
      plan_request_of(workload, 17, {.transfer = placement::RowTransfer::unique_rows});
  EXPECT_EQ(request.ranks, 17);
  EXPECT_EQ(request.global_batch, 65536);
  EXPECT_EQ(request.ids.alpha, 1.05);
  EXPECT_FALSE(request.ids.scattered);
  EXPECT_EQ(request.movement.transfer, placement::RowTransfer::unique_rows);
  workload.ids = {.distribution = IdDistribution::uniform, .ragged = true, .shift = 3};
  const placement::IdStatistics ids = id_statistics_of(workload.ids);
  EXPECT_EQ(ids.alpha, 0.0);
  EXPECT_TRUE(ids.scattered);
  EXPECT_TRUE(ids.ragged);
}

}  // namespace
}  // namespace shardmark::workloads
