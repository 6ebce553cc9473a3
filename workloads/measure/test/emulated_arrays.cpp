// SPDX-License-Identifier: Apache-2.0
// Makes the arrays of the emulated device memory of an emulated GPU, which the exchanges of a step read and write, and
// its queue a stream, with which they are ordered.
#include "comm/test/emulated_cuda.hpp"
#include "kernels/test/emulated/emulated_queue.hpp"

namespace shardmark::workloads {
namespace {

using kernels::emulated::Device;

const comm::EmulatedArrays arrays{
    .holds = [](const void* at, std::size_t bytes) { return Device::get().holds(at, bytes); },
    .open = []() -> std::shared_ptr<void> { return std::make_shared<Device::Opened>(Device::get()); },
    .stream = &Device::get(),
    .turn = Device::get().turn(),
    .push = [](std::function<bool()> step) { Device::get().push_step(std::move(step)); },
    .run = [](const std::function<bool()>& done) { return Device::get().run_until(done); }};

[[maybe_unused]] const bool known = (comm::emulated_arrays = &arrays) != nullptr;

}  // namespace
}  // namespace shardmark::workloads
