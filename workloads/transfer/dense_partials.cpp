// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer/transfer.hpp"
#include "workloads/transfer/vector_route.hpp"

namespace shardmark {
namespace {

/// Every owner sends the vector of every bag, touched or not (HugeCTR's "Reduction" compression strategy).
class DensePartials : public Transfer {
 public:
  explicit DensePartials(Exchange& exchange) : exchange_(exchange) {}

  Addresses lay_out(const ShardLayout& layout, const BagCounts& bags) override {
    Addresses addresses = empty_addresses(layout);
    route_ = add_vector_route(
        layout, bags, [](const Slot&) { return true; }, addresses);
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

std::unique_ptr<Transfer> make_dense_partials(const Communicator&, Exchange& exchange, SentBytes&) {
  return std::make_unique<DensePartials>(exchange);
}

}  // namespace shardmark
