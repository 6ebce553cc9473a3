// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "results/dynamic_fields.hpp"
#include "results/table/answer.hpp"

namespace shardmark::results {

/// Returns a line on the fastest case with tables of storage dynamic: how many rows they hold, in how many bytes, and
/// how rows came and went in the timed steps. It is empty where there is none.
inline std::vector<std::string> dynamic_table_lines(const Records& ranked) {
  namespace names = dynamic_fields;
  for (const CaseRecord* record : ranked) {
    const auto dynamic = record->details.find(names::object);
    if (dynamic == record->details.end() || !dynamic->is_object()) continue;
    const auto of = [&](const char* name) {
      const auto found = dynamic->find(name);
      return found != dynamic->end() && found->is_number() ? found->get<double>() : 0.0;
    };
    std::string line =
        fmt::format("dynamic: {} tables hold {} rows in {} bytes each, {} of them for keys (load {:.2f})",
                    with_commas(of(names::tables)), with_commas(of(names::rows)), figure(of(names::bytes_per_row)),
                    figure(of(names::key_bytes_per_row)), of(names::load));
    const double named = of(names::found) + of(names::admitted) + of(names::absent);
    if (named > 0.0)
      line += fmt::format(
          "; of the keys of the timed steps {:.1f} % had a row, {:.1f} % got one, {:.1f} % have none; {} "
          "rows were evicted",
          100.0 * of(names::found) / named, 100.0 * of(names::admitted) / named, 100.0 * of(names::absent) / named,
          with_commas(of(names::evicted)));
    if (const auto keys = dynamic->find(names::keys); keys != dynamic->end() && keys->is_string())
      line += fmt::format("; their keys: {}", keys->get<std::string>());
    return {line};
  }
  return {};
}

}  // namespace shardmark::results
