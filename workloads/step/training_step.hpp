// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "workloads/step/grouped_embedding.hpp"

namespace shardmark {

/// One training step as the data walks. Collective. Returns what each phase cost this rank.
PhaseCosts training_step(GroupedEmbedding& embedding, const StepInput& input);

}  // namespace shardmark
