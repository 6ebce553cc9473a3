// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "comm/placement/show.hpp"

namespace shardmark {
namespace {

const std::vector<Table> tables{
    {"small", 10, 4, {}}, {"wide", 1000, 100, {.kind = OptimizerKind::rowwise_adagrad}}, {"long", 50000, 2, {}}};
const std::vector<Feature> features{{"s", 0, Pooling::sum, 3}, {"w", 1, Pooling::sum, 2}, {"l", 2, Pooling::sum, 6}};
const Plan plan{"hand",
                3,
                {{true, {}},
                 {false, {{{0, 1000, 1}, 0, 60, 0}, {{0, 1000, 1}, 60, 100, 2}}},
                 {false, {{{0, 50000, 2}, 0, 2, 0}, {{1, 50000, 2}, 0, 2, 1}}}}};

TEST(Show, ids_per_sample_follow_the_placement) {
  EXPECT_EQ(ids_per_sample(plan, tables, features), (std::vector<double>{1 + 2 + 3, 1 + 3, 1 + 2}));
}

TEST(Show, prints_ranks_tables_and_the_fullest_rank) {
  EXPECT_EQ(show(plan, tables, features),
            R"(plan 'hand' for 3 ranks, 3 tables (ids per sample: expected for uniform ids)

     rank  tables           rows    tables MB     state MB   ids/sample
        0       3          26010        0.440        0.004        6.000
        1       2          25010        0.200        0.000        4.000
        2       2           1010        0.160        0.004        3.000
imbalance    1.29           1.50         1.65         1.50         1.38

table         rows   dim           MB  placement      shards  ranks
small           10     4        0.000  data_parallel       3  all
wide          1000   100        0.404  column_wise         2  0,2
long         50000     2        0.400  row_wise            2  0-1

fullest rank 0: 0.444 MB
         0.244 MB   54.9 %  wide
         0.200 MB   45.0 %  long
         0.000 MB    0.0 %  small
)");
}

}  // namespace
}  // namespace shardmark
