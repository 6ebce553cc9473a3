// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "comm/placement/cost/machine_description.hpp"

namespace CLI {
class Option;
}

namespace shardmark::workloads {

/// Makes the option take bytes as bytes_in() reads them, such as 80GB or 80GiB. What is none is an InputError.
CLI::Option* as_bytes(CLI::Option* option);

/// Bytes per second of "25GB/s" (bytes) or "200Gb/s" (bits), also as 200Gbit/s or 200Gbps. Throws InputError.
double rate_in(std::string_view text);

/// A link and how many of them: "200Gb/s" or "8x200Gb/s". Throws InputError.
placement::NodeLinks links_in(std::string_view text);

/// Seconds of "2us", "800ns" or "0.01ms". Throws InputError.
double latency_in(std::string_view text);

/// The share of "3%" or "0.03", above 0 and below 1. Throws InputError that begins with the option.
double share_of(std::string_view option, std::string_view text);

}  // namespace shardmark::workloads
