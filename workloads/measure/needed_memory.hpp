// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace shardmark::workloads {

/// Holds the bytes that a rank needs: where steps run (Execution), and for what stays on the host. The two are one
/// memory where steps run on the host.
struct NeededMemory {
  double arrays = 0.0, host = 0.0;

  double all() const { return arrays + host; }
};

}  // namespace shardmark::workloads
