// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/row_gradients.hpp"

namespace shardmark::kernels {

/// Names a shard by its first key, with the columns of its gradients.
struct GradientShard {
  std::int64_t first_key = 0;
  std::int64_t dim = 0;
};

template <class Exec>
struct SummedGradientsWorkspace {
  RowGradientsWorkspace<Exec> rows;
  Scratch<Exec, float> sums{"shardmark::summed_gradients"};
  Scratch<Exec, std::uint64_t> words{"shardmark::summed_words"};
  Scratch<Exec, std::int64_t> segments{"shardmark::summed_segments"};
};

/// Returns the same gradients of the same rows, each summed once, bit for bit as the kernels would sum it, and stored
/// one behind the other. This serves those who need a gradient more than once, since the vectors that it is summed from
/// lie all over memory. key_bound: above all keys. The result lives in `workspace`. Returns `gradients` as they are
/// where a key and a place would need more than 64 bits.
template <class Exec>
RowGradients<Exec> summed_gradients(const Exec& exec, const RowGradients<Exec>& gradients, std::int64_t key_bound,
                                    const ShardList<Exec, GradientShard>& shards,
                                    SummedGradientsWorkspace<Exec>& workspace);

}  // namespace shardmark::kernels
