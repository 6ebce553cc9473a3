// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/transfer.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark {
namespace {

/// Owners send their vectors as they are: of every bag, touched or not (HugeCTR's "Reduction" compression strategy), or
/// of the touched ones, as the counts say.
class Partials : public Transfer {
 public:
  explicit Partials(Exchange& exchange) : exchange_(exchange) {}

  Addresses lay_out(const ShardLayout& layout, const BagCounts& bags, const VectorCounts& counts) override {
    Addresses addresses = empty_addresses(layout);
    route_ = add_vector_route(
        layout, bags, counts, [](const Slot&) { return true; }, addresses);
    back_ = route_.inverse();
    return addresses;
  }

  void forward(std::span<const float> owner, std::span<float> packed) override {
    run(exchange_, route_, owner, packed);
  }
  void backward(std::span<const float> packed, std::span<float> owner) override {
    run(exchange_, back_, packed, owner);
  }

 private:
  Exchange& exchange_;
  Route route_, back_;
};

}  // namespace

std::unique_ptr<Transfer> make_partials(const Communicator&, Exchange& exchange, SentBytes&) {
  return std::make_unique<Partials>(exchange);
}

}  // namespace shardmark
