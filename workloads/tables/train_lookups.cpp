// SPDX-License-Identifier: Apache-2.0
#include "workloads/tables/train_lookups.hpp"

#include <algorithm>
#include <limits>

#include "kernels/pooled_lookup.hpp"

namespace shardmark {

TrainLookup::TrainLookup(const TrainCores& cores, std::int64_t dim)
    : dim_(dim), zero_(kernels::array_of(Execution(), std::vector<std::int64_t>{0}, "shardmark::zero")) {
  std::vector<kernels::TensorTrainCores> all;
  std::int64_t slices = 0;
  workspace_.most_bytes = std::numeric_limits<std::int64_t>::max();
  for (const KeptTrain& train : cores.trains()) {
    if (train.what.dim != dim) continue;
    workspace_.most_bytes = std::min(workspace_.most_bytes, train.what.tensor_train.workspace_mib << 20);
    keys_.emplace(train.shard, train.keys(key_bound_));
    all.push_back(cores.cores(train, key_bound_, slices));
    key_bound_ += train.shape.rows();
    slices += train.shape.slices();
  }
  trains_ = kernels::tensor_trains(Execution(), all);
}

void TrainLookup::clear() {
  train_bags_.host.clear();
  lookups_.host.clear();
  maxima_.host.clear();
}

void TrainLookup::add(const BagBlock& block) {
  train_bags_.host.push_back({.first_bag = block.first_bag, .bags = block.bags, .keys = keys_.at(block.shard)});
  lookups_.host.push_back({.first_bag = block.first_bag,
                           .bags = block.bags,
                           .dim = dim_,
                           .output = block.output,
                           .output_stride = block.stride,
                           .pooling = block.pooling});
  if (block.pooling != Pooling::max) return;
  kernels::PooledGradient& maximum = maxima_.host.emplace_back(kernels::PooledGradient{lookups_.host.back()});
  maximum.gradient = block.gradient;
  maximum.gradient_stride = block.stride;
  maximum.id_gradient = block.id_gradient;
  maximum.id_gradient_stride = block.id_gradient_stride;
}

void TrainLookup::set() { train_bags_.array(); }

std::int64_t TrainLookup::count_ids(const BagIds& bags) {
  const Execution exec;
  const auto before = before_.first(std::ssize(train_bags_.host) + 1);
  kernels::count_train_ids<Execution>(exec, train_bags_.made(), bags.offsets, before);
  Kokkos::deep_copy(exec, host_count_, Kokkos::subview(before, before.extent(0) - 1));
  exec.fence("shardmark: the host reads how many ids name rows of tensor trains");
  return host_count_();
}

void TrainLookup::contract(const BagIds& bags, std::int64_t count, const DeviceArray<std::int64_t>& ids) {
  const Execution exec;
  const auto keys = keys_of_ids_.first(count), positions = positions_.first(count);
  const auto before = before_.first(std::ssize(train_bags_.host) + 1);
  kernels::list_train_ids<Execution>(exec, train_bags_.made(), bags.offsets, before, bags.ids, keys, positions);
  const auto unique = kernels::unique_rows<Execution>(exec, keys, key_bound_, positions,
                                                      static_cast<std::int64_t>(ids.extent(0)), unique_workspace_);
  const auto tree = kernels::prefix_tree(exec, unique, trains_, tree_workspace_);
  const auto rows = rows_.first(tree.rows() * dim_);
  kernels::contract_rows(exec, tree, trains_, workspace_, rows, dim_);
  kernels::invert_unique_rows<Execution>(exec, unique, zero_, zero_, ids);
  for (auto& block : lookups_.host) block.rows = rows.data();
  for (auto& block : maxima_.host) block.rows = rows.data();
}

void TrainLookup::run(const BagIds& bags, const DeviceArray<std::int64_t>& ids, const DeviceArray<float>& output) {
  if (lookups_.host.empty()) return;
  if (const std::int64_t count = count_ids(bags); count > 0) contract(bags, count, ids);
  kernels::pooled_lookup(Execution(), lookups_.array(), bags.offsets, ids, bags.weights, output);
}

void TrainLookup::max_gradients(const BagIds& bags, const DeviceArray<std::int64_t>& ids,
                                const ConstDeviceArray<float>& pooled, const ConstDeviceArray<float>& gradients,
                                const DeviceArray<float>& id_gradients) {
  if (maxima_.host.empty()) return;
  kernels::max_gradients<Execution>(Execution(), maxima_.array(), bags.offsets, ids, bags.weights, pooled, gradients,
                                    id_gradients);
}

TrainLookups::TrainLookups(const TrainCores& cores) : cores_(cores) {
  for (const KeptTrain& train : cores.trains()) by_dim_.try_emplace(train.what.dim, cores, train.what.dim);
}

void TrainLookups::set(const std::vector<BagBlock>& blocks) {
  for (auto& [dim, lookup] : by_dim_) lookup.clear();
  for (const BagBlock& block : blocks) by_dim_.at(cores_.find(block.shard)->what.dim).add(block);
  for (auto& [dim, lookup] : by_dim_) lookup.set();
}

void TrainLookups::run(const BagIds& bags, const DeviceArray<float>& output) {
  numbers_ = ids_.first(static_cast<std::int64_t>(bags.ids.extent(0)));
  for (auto& [dim, lookup] : by_dim_) lookup.run(bags, numbers_, output);
}

void TrainLookups::max_gradients(const BagIds& bags, const ConstDeviceArray<float>& pooled,
                                 const ConstDeviceArray<float>& gradients, const DeviceArray<float>& id_gradients) {
  for (auto& [dim, lookup] : by_dim_) lookup.max_gradients(bags, numbers_, pooled, gradients, id_gradients);
}

}  // namespace shardmark
