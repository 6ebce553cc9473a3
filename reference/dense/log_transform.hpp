// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <optional>

namespace shardmark::reference {

/// Of an integer column of Criteo: log(1 + x), where a missing field and a negative value count as 0; evaluated in
/// double and rounded once. Source: facebookresearch/dlrm, whose data_utils.py sets "" to 0 and X_int < 0 to 0, and
/// whose loader takes log(X_int + 1). TorchRec's preprocessing differs, log(x + 3) or log(x - min + 2), and has already
/// been applied in its .npy files: they are not transformed again.
inline float log_transform(std::optional<float> x) {
  return x && *x > 0.0F ? static_cast<float>(std::log1p(static_cast<double>(*x))) : 0.0F;
}

}  // namespace shardmark::reference
