// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/update/device_row_gradients.hpp"
#include "kernels/update/host_row_gradients.hpp"

namespace shardmark::kernels {

/// Computes the gradient of every distinct row and passes it to `consume`, rows in parallel. The form of the call
/// depends on the execution space:
///   on the host    consume(shard, run), where `run` goes through consecutive rows of one shard; see host::RowRun
///   on a device    consume(shard, u, row, columns), where a tile shares the columns of one row; see device::RowColumns
/// The numbers of rows and of hot pieces, which only the device knows, stay there: on the host as many indices are
/// launched as there can be rows and pieces, on a device as many tiles as it has places for.
template <class Exec, class Shard, class Consume>
void for_each_row_gradient(const std::string& label, const Exec& exec, const RowGradients<Exec>& gradients,
                           const ShardList<Exec, Shard>& list, RowGradientsWorkspace<Exec>& workspace,
                           const Consume& consume) {
  const std::int64_t positions = gradients.unique.positions();
  if (positions == 0) return;
  if constexpr (on_device<Exec>) {
    const auto source = device::row_source(label, exec, gradients, list, workspace);
    device::for_each_row(label, exec, source, device::ShardRange<Shard>{list.shards.data(), list.count()},
                         list.largest_dim, consume);
  } else {
    using Kernel = host::RowGradientKernel<Exec, Shard, Consume>;
    const auto hot = list_hot_rows(exec, gradients.unique, list.largest_dim, workspace);
    const Kernel kernel{gradients, list, hot, consume};
    const BalancedRanges most{positions, positions, host::update_grain};
    Kokkos::parallel_for(label + "_hot_rows",
                         dynamic_range<typename Kernel::SumPieces>(exec, 2 * hot_row_places(positions)), kernel);
    Kokkos::parallel_for(label, dynamic_range(exec, most.count()), kernel);
  }
}

}  // namespace shardmark::kernels
