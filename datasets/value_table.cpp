// SPDX-License-Identifier: Apache-2.0
#include "datasets/value_table.hpp"

#include <fmt/format.h>
#include <xxhash.h>

namespace shardmark::datasets {
namespace {

XXH64_state_t* state_of(void* state) { return static_cast<XXH64_state_t*>(state); }

}  // namespace

void Checksum::Free::operator()(void* state) const { XXH64_freeState(state_of(state)); }

Checksum::Checksum() : state_(XXH64_createState()) { XXH64_reset(state_of(state_.get()), 0); }

void Checksum::add(const void* bytes, std::size_t count) { XXH64_update(state_of(state_.get()), bytes, count); }

std::string Checksum::text() const { return fmt::format("{:016x}", XXH64_digest(state_of(state_.get()))); }

}  // namespace shardmark::datasets
