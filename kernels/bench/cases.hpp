// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "reference/tensor_train/shape.hpp"

namespace shardmark::kernels::bench {

struct TableShape {
  std::int64_t rows;
  std::int64_t hotness;  ///< ids per bag
};

/// What the kernels of a step are measured on: tables of one dim with a bag of each sample in each of them.
struct Case {
  std::string_view name;
  std::string_view description;
  std::int64_t dim;
  std::int64_t batch;  ///< samples
  double alpha;        ///< of the power law of the ids, 0: uniform
  std::span<const TableShape> tables;
  bool shuffled = false;  ///< rows that are used alike lie apart
};

inline constexpr std::array one_table{TableShape{10'000'000, 20}};

inline constexpr std::array kaggle_tables{
    TableShape{1460, 1},    TableShape{583, 1},   TableShape{10131227, 1}, TableShape{2202608, 1},
    TableShape{305, 1},     TableShape{24, 1},    TableShape{12517, 1},    TableShape{633, 1},
    TableShape{3, 1},       TableShape{93145, 1}, TableShape{5683, 1},     TableShape{8351593, 1},
    TableShape{3194, 1},    TableShape{27, 1},    TableShape{14992, 1},    TableShape{5461306, 1},
    TableShape{10, 1},      TableShape{5652, 1},  TableShape{2173, 1},     TableShape{4, 1},
    TableShape{7046547, 1}, TableShape{18, 1},    TableShape{15, 1},       TableShape{286181, 1},
    TableShape{105, 1},     TableShape{142572, 1}};

/// Rows of MLPerf's list divided by 40, rounded up.
inline constexpr std::array dcnv2_tables{
    TableShape{1000000, 3},   TableShape{977, 2},      TableShape{433, 1},    TableShape{186, 2},
    TableShape{507, 6},       TableShape{1, 1},        TableShape{179, 1},    TableShape{39, 1},
    TableShape{2, 1},         TableShape{1000000, 7},  TableShape{76699, 3},  TableShape{10133, 8},
    TableShape{1, 1},         TableShape{56, 6},       TableShape{299, 9},    TableShape{4, 5},
    TableShape{1, 1},         TableShape{25, 1},       TableShape{1, 1},      TableShape{1000000, 12},
    TableShape{1000000, 100}, TableShape{1000000, 27}, TableShape{14754, 10}, TableShape{325, 3},
    TableShape{3, 1},         TableShape{1, 1}};

inline constexpr std::array cases{
    Case{"a", "10 M rows of 64, 20 uniform ids a bag", 64, 8192, 0, one_table},
    Case{"b", "10 M rows of 128, 20 uniform ids a bag", 128, 8192, 0, one_table},
    Case{"c", "10 M rows of 16, 20 uniform ids a bag", 16, 32768, 0, one_table},
    Case{"d", "the 26 tables of Criteo Kaggle, one-hot, power law", 16, 16384, 1.05, kaggle_tables},
    Case{"e", "MLPerf DLRM-DCNv2, multi-hot, power law, 1/40 of its rows", 128, 2048, 1.05, dcnv2_tables},
    Case{"f", "what each of two ranks holds of (d) split by columns", 8, 16384, 1.05, kaggle_tables},
};

inline constexpr std::array fbtt_table{TableShape{11'000'000, 20}};

/// FBTT-Embedding's benchmark. With the power law, frequent rows lie together and share prefixes, or apart.
inline constexpr TensorTrainShape fbtt_shape{.cores = 3, .p = {200, 220, 250}, .q = {4, 4, 4}, .r = {1, 32, 32, 1}};
inline constexpr std::array tensor_train_cases{
    Case{"tt-uniform", "FBTT-Embedding's benchmark: 512 bags of 20 uniform ids", 64, 512, 0, fbtt_table},
    Case{"tt-zipf", "the same with a power law, frequent rows together", 64, 512, 1.05, fbtt_table},
    Case{"tt-shuffled", "the same with a power law, frequent rows apart", 64, 512, 1.05, fbtt_table, true},
    Case{"tt-uniform-16384", "32 times the batch, uniform ids", 64, 16384, 0, fbtt_table},
    Case{"tt-zipf-16384", "32 times the batch, frequent rows together", 64, 16384, 1.05, fbtt_table},
    Case{"tt-shuffled-16384", "32 times the batch, frequent rows apart", 64, 16384, 1.05, fbtt_table, true},
};

}  // namespace shardmark::kernels::bench
