// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "reference/optimizer.hpp"
#include "reference/pooling.hpp"
#include "reference/value_type.hpp"

namespace shardmark {

/// How the rows of a table are kept, and so what a lookup and an update of it do.
enum class Storage { dense };

inline constexpr std::array storages{
    Choice<Storage>{"dense", "every row in memory, one behind the other", Storage::dense},
};
constexpr auto choices_of(Storage) { return Choices{"storage", storages}; }

/// An embedding table: `rows` vectors of `dim` values.
struct Table {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  Optimizer optimizer{};
  ValueType value_type = ValueType::fp32;
  Storage storage = Storage::dense;
  bool stochastic_rounding = false;  ///< of updated values of fp16 and bf16; else to nearest
};

/// One lookup: a bag of ids per sample into table number `table`, pooled. Several features may share a table.
struct Feature {
  std::string name;
  std::int64_t table = 0;
  Pooling pooling = Pooling::sum;
  std::int64_t hotness = 1;  ///< ids per sample that a generator draws
};

}  // namespace shardmark
