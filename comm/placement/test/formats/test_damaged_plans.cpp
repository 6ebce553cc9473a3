// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <random>
#include <sstream>
#include <string>

#include "comm/placement/formats/plan_file.hpp"
#include "comm/placement/plan_check.hpp"
#include "comm/placement/planner.hpp"
#include "comm/placement/test/random_tables.hpp"
#include "comm/placement/traffic/traffic_file.hpp"
#include "reference/error.hpp"

namespace shardmark::placement {
namespace {

/// One to four places changed: a character, a digit made long, a piece left out or repeated.
std::string damaged(std::string text, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  for (auto changes = 1 + below(4); changes > 0 && !text.empty(); --changes) {
    const std::size_t at = below(text.size());
    const std::string piece = text.substr(at, 1 + below(40));
    switch (random() % 5) {
      case 0:
        text[at] = static_cast<char>(random());
        break;
      case 1:
        text.erase(at, piece.size());
        break;
      case 2:
        text.insert(below(text.size()), piece);
        break;
      case 3:
        text.insert(at, "99999999999999999999", 1 + below(20));
        break;
      default:
        text[at] = "[]{},:\"-.0e"[below(11)];
        break;
    }
  }
  return text;
}

/// How many of five damaged copies of each format are refused; the others give a plan that can be checked.
int refused_copies(const std::string& ours, const std::string& theirs, const RandomTables& workload,
                   std::mt19937& random) {
  const HugectrContext context{.tables = workload.tables, .lookups = workload.features};
  int refused = 0;
  for (int copy = 0; copy < 5; ++copy) {
    try {
      check(plan_from_json(damaged(ours, random), "p.json", workload.tables), workload.tables);
    } catch (const InputError&) {
      ++refused;
    }
    try {
      const std::string text = damaged(theirs, random);
      check_hugectr_plan(text, "h.json", context);
      check(plan_from_hugectr(text, "h.json", "h", context), workload.tables);
    } catch (const InputError&) {
      ++refused;
    }
  }
  return refused;
}

/// Whatever is in a file, it is refused in words or gives a plan that can be checked: built with sanitizers this test
/// looks for more than it says.
TEST(DamagedPlans, AreRefusedOrChecked) {
  int refused = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    RandomTables workload(random);
    const Planner& planner = planners[seed % planners.size()];
    const Plan plan = make_plan(planner.name, workload.tables, workload.features, {.ranks = 4, .replicate_rows = 10});
    std::string theirs;  // stays empty, which is refused, where HugeCTR's format cannot say the plan
    try {
      theirs = plan_to_hugectr(plan, workload.tables, workload.features, hugectr_spellings[seed % 3]);
    } catch (const InputError&) {
    }
    refused += refused_copies(plan_to_json(plan, workload.tables), theirs, workload, random);
  }
  EXPECT_GT(refused, 2000);
}

TEST(DamagedPlans, OfOtherSystemsToo) {
  int refused = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    std::mt19937 random(seed);
    RandomTables workload(random);
    const char* planner = seed % 2 == 0 ? "table_wise" : "data_parallel+table_wise";
    const Plan plan = make_plan(planner, workload.tables, workload.features, {.ranks = 4, .replicate_rows = 10});
    try {
      const std::string text = damaged(plan_to_shard_matrix(plan, workload.tables), random);
      check(plan_from_shard_matrix(text, "m.json", "m", workload.tables), workload.tables);
    } catch (const InputError&) {
      ++refused;
    }
    try {
      const std::string text = damaged(plan_to_torchrec(plan, workload.tables), random);
      check(plan_from_torchrec(text, "t.json", "t", workload.tables), workload.tables);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 700);
}

TEST(DamagedTraffic, IsRefusedOrRead) {
  int refused = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    try {
      std::istringstream text(damaged("0 1 2\n3 4 5\n6 7 8\n", random));
      read_traffic(text, "t.txt");
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace shardmark::placement
