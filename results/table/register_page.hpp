// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "results/json_lines.hpp"
#include "results/registered.hpp"

namespace shardmark::results {

/// Holds a results file and its name.
struct MeasuredFile {
  std::string file;
  Results results;
};

/// Holds what `results register` prints, and how many predictions some file has a case of.
struct RegisterPage {
  std::string text;
  std::int64_t matched = 0;
};

/// Returns a line for each prediction and case of it, what keeps cases from being one, and what the predictions that
/// count come to. Throws InputError as measured_since() does.
RegisterPage register_page(const Registered& registered, const std::string& file,
                           std::span<const MeasuredFile> measured);

}  // namespace shardmark::results
