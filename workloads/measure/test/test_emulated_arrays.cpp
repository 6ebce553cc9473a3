// SPDX-License-Identifier: Apache-2.0
// The arrays of the emulated device are memory of a GPU, to which CUDA, NCCL and MPI come without waiting for kernels.
#include <gtest/gtest.h>

#include <array>
#include <cmath>

#include "comm/device_memory.hpp"
#include "comm/exchange/named_exchange.hpp"
#include "workloads/measure/test/plans.hpp"
#include "workloads/measure/test/small_case.hpp"

namespace shardmark::workloads {
namespace {

const std::array exchanges_of_gpus{comm::exchange_named("nccl"), comm::exchange_named("host_staged"),
                                   comm::exchange_named("device_aware")};

/// Fills a new array, but does not wait for it.
DeviceArray<float> being_filled(std::size_t size, float value) {
  const DeviceArray<float> array(Kokkos::view_alloc("array", Kokkos::WithoutInitializing), size);
  Kokkos::deep_copy(Execution(), array, value);
  return array;
}

/// Returns what CUDA copies from the first element, or to it and back.
float copied(const DeviceArray<float>& array) {
  float value = 0;
  comm::copy_bytes(reinterpret_cast<std::byte*>(&value), reinterpret_cast<const std::byte*>(array.data()),
                   sizeof value);
  return value;
}

bool runs_at_once() {
  const char* when = std::getenv("SHARDMARK_EMULATED");
  return when != nullptr && std::string_view(when) != "deferred";
}

TEST(EmulatedArrays, AreMemoryOfAGpuWhoseKernelsCudaDoesNotWaitFor) {
  const DeviceArray<float> array = being_filled(2, 3.0F);
  EXPECT_TRUE(comm::on_gpu(array.data()));
  EXPECT_TRUE(runs_at_once() || std::isnan(copied(array)));
  Execution().fence();
  EXPECT_EQ(copied(array), 3.0F);
}

/// Each rank sends each a number, from an array to another.
TEST(EmulatedArrays, AreSentAsTheyAreWhereTheirKernelsAreNotWaitedFor) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::vector<std::int64_t> one_each(comm.size(), 1);
  const comm::Route route(one_each, one_each, comm.size());
  for (const comm::NamedExchange& named : exchanges_of_gpus) {
    const auto exchange = named.make(comm);
    const std::size_t size = static_cast<std::size_t>(comm.size());
    const DeviceArray<float> sent = being_filled(size, 3.0F), received = being_filled(size, 0.0F);
    const auto run = [&] {
      comm::run(*exchange, route, std::span<const float>(sent.data(), size), std::span(received.data(), size));
      return copied(received);
    };
    EXPECT_TRUE(runs_at_once() || std::isnan(run())) << named.name();
    Execution().fence();
    EXPECT_EQ(run(), 3.0F) << named.name();
  }
}

TEST(EmulatedArrays, AreSentBehindTheirKernelsByAnExchangeThatFollowsThem) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const std::vector<std::int64_t> one_each(comm.size(), 1);
  const comm::Route route(one_each, one_each, comm.size());
  const std::size_t size = static_cast<std::size_t>(comm.size());
  const auto exchange = comm::exchange_named("nccl").make(comm);
  exchange->follow(kernel_stream());
  const DeviceArray<float> sent = being_filled(size, 3.0F), received = being_filled(size, 0.0F),
                           behind = being_filled(size, 0.0F);
  comm::run(*exchange, route, std::span<const float>(sent.data(), size), std::span(received.data(), size));
  Kokkos::deep_copy(Execution(), behind, received);
  EXPECT_TRUE(runs_at_once() || std::isnan(copied(behind)));
  wait_for_kernels("test");
  EXPECT_EQ(copied(behind), 3.0F);
}

TEST(EmulatedArrays, OfAStepTravelByEachExchangeOfGpus) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  const RunOptions options = small_case(Pooling::sum, OptimizerKind::sgd, true);
  const placement::Plan plan = plan_of("row_wise", options, comm.size());
  for (const comm::NamedExchange& exchange : exchanges_of_gpus)
    for (const auto& transfer : placement::transfers)
      for (const std::int64_t groups : {1, 2})
        EXPECT_EQ(0,
                  wrong_values(
                      comm, options, plan,
                      {.movement = {.transfer = transfer.value}, .exchange = exchange, .groups = {.groups = groups}}))
            << exchange.name() << " " << transfer.name << " " << groups;
}

/// NCCL sums gradients of weights and of replicated tables, behind the kernels or, where several threads launch some,
/// when the host has waited for them.
TEST(EmulatedArrays, OfADenseModelTravelByEachExchangeOfGpus) {
  const comm::Communicator comm(MPI_COMM_WORLD);
  std::size_t turn = 0;
  for (const DenseKind kind : {DenseKind::mlp, DenseKind::dlrm, DenseKind::dcnv2}) {
    RunOptions options = dense_case(kind, Pooling::sum, OptimizerKind::rowwise_adagrad);
    options.workload.dense->top_mlp = {600, 500, 1};
    options.dense.optimizer = OptimizerKind::adagrad;
    for (const comm::NamedExchange& exchange : exchanges_of_gpus) {
      ++turn;
      for (const AsyncMode async : {AsyncMode::off, AsyncMode::ids}) {
        const std::int64_t groups = 1 + static_cast<std::int64_t>((turn + index_of(async)) % 2);
        const Case config{.exchange = exchange, .groups = {.groups = groups}, .async = {.mode = async}};
        EXPECT_EQ(0, wrong_values(comm, options, plan_of("data_parallel+table_wise", options, comm.size()), config))
            << name_of(kind) << " " << config.name();
      }
    }
  }
}

}  // namespace
}  // namespace shardmark::workloads
