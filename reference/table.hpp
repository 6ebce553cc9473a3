// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

#include "reference/optimizer.hpp"
#include "reference/pooling.hpp"
#include "reference/tensor_train/tensor_train.hpp"
#include "reference/value_type.hpp"

namespace shardmark::reference {

/// Selects what represents the rows of a table in memory; storage.hpp has the table of choices.
enum class Storage { dense, tt };

/// Is an embedding table: `rows` vectors of `dim` values.
struct Table {
  std::string name;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
  Optimizer optimizer{};
  Storage storage = Storage::dense;
  ValueType value_type = ValueType::fp32;
  bool stochastic_rounding = false;  ///< of updated values of fp16 and bf16; else to nearest
  TensorTrain tensor_train{};        ///< of Storage::tt
};

/// Is one lookup: a bag of ids per sample into table number `table`, pooled. Several features may share a table.
struct Feature {
  std::string name;
  std::int64_t table = 0;
  Pooling pooling = Pooling::sum;
  std::int64_t hotness = 1;  ///< ids per sample that a generator draws
};

}  // namespace shardmark::reference

namespace shardmark {  // words of every folder
using reference::Feature, reference::Storage, reference::Table;
}  // namespace shardmark
