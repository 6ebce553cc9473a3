// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "comm/placement/plan.hpp"
#include "reference/named.hpp"

namespace shardmark::workloads {

struct Case;

/// Selects the stages of a step that are run before it begins, while the steps before it are taken.
enum class AsyncMode { off, ids, rows, patched };

inline constexpr std::array async_modes{
    Choice<AsyncMode>{"off", "nothing: one step after the other", AsyncMode::off},
    Choice<AsyncMode>{"ids", "ids go to the owners of their rows; exact (DeepRec's SmartStage)", AsyncMode::ids},
    Choice<AsyncMode>{"rows", "rows are looked up and sent home too; stale by at most staleness_bound (DeepRec)",
                      AsyncMode::rows},
    Choice<AsyncMode>{"patched", "as rows, and vectors whose rows changed since are sent again; exact",
                      AsyncMode::patched},
};
constexpr auto choices_of(AsyncMode) { return Choices{"async mode", async_modes}; }

/// Selects which of the prepared batches a step takes; the same on all ranks.
enum class AsyncOrder { input, completion };

inline constexpr std::array async_orders{
    Choice<AsyncOrder>{"input", "the next of the input", AsyncOrder::input},
    Choice<AsyncOrder>{"completion", "the one that was prepared first, as far as staleness_bound lets the others wait",
                       AsyncOrder::completion},
};
constexpr auto choices_of(AsyncOrder) { return Choices{"async order", async_orders}; }

/// Selects which threads prepare batches, and on which cores.
enum class PoolKind { automatic, inlined, shared, dedicated };

inline constexpr std::array pool_kinds{
    Choice<PoolKind>{"auto", "inline where no core is to spare and nothing travels between nodes, else shared",
                     PoolKind::automatic},
    Choice<PoolKind>{"inline", "the thread of the steps, each batch when its step begins", PoolKind::inlined},
    Choice<PoolKind>{"shared", "threads on any core of the rank, beside those that compute", PoolKind::shared},
    Choice<PoolKind>{"dedicated", "threads on N cores (dedicated:N), which are taken from those that compute",
                     PoolKind::dedicated},
};
constexpr auto choices_of(PoolKind) { return Choices{"stage pool", pool_kinds}; }

struct StagePool {
  PoolKind kind = PoolKind::automatic;
  std::int64_t cores = 0;  ///< of each rank, above 0 only in a dedicated pool

  /// Returns the name, such as "shared" or "dedicated:2".
  std::string name() const;
  bool operator==(const StagePool&) const = default;
};

/// Parses a stage pool. Throws InputError for an unknown name, listing the valid ones; for a number that is no number
/// of cores, or that stands where none may.
StagePool stage_pool_named(std::string_view text);

/// Configures how steps are prepared before they are taken.
struct Async {
  AsyncMode mode = AsyncMode::off;
  StagePool pool = {};
  std::int64_t threads = 1;  ///< 0: as many as the formula requires
  AsyncOrder order = AsyncOrder::input;
  std::int64_t capacity = 0;               ///< 0: as many as threads
  std::optional<std::int64_t> bound = {};  ///< absent: capacity + 1

  bool on() const { return mode != AsyncMode::off; }
  bool inlined() const { return pool.kind == PoolKind::inlined; }
  /// Returns whether steps take the batches in the order of the input: one thread completes them so whatever the order.
  bool in_order() const { return order == AsyncOrder::input || inlined() || threads == 1; }
  /// Returns whether rows are read before their step.
  bool looks_up() const { return mode == AsyncMode::rows || mode == AsyncMode::patched; }
  std::int64_t room(std::int64_t of_threads) const { return capacity > 0 ? capacity : of_threads; }
  std::int64_t staleness_bound(std::int64_t of_threads) const { return bound.value_or(room(of_threads) + 1); }
  /// Returns the most steps whose updates the outputs of a step may lack.
  std::int64_t most_stale() const {
    return mode == AsyncMode::rows && !inlined() ? staleness_bound(most_threads(threads)) : 0;
  }

  static constexpr std::int64_t most_auto_threads = 4;
  /// Returns a bound of the number of threads.
  static std::int64_t most_threads(std::int64_t threads) { return threads > 0 ? threads : most_auto_threads; }

  bool operator==(const Async&) const = default;
};

/// Checks that what a case prepares before its steps is possible with plan and tables. Throws InputError that names
/// plan, table, feature or transfer and the reason:
///   - lookups of tt tables cannot be prepared: they count rows for the cache that the steps fill;
///   - rows: no feature may pool by max, whose gradient goes to the row that equals the maximum now;
///   - patched: where tables are split by rows, vectors must travel one by one, so that single ones can be sent again.
void require_async(const placement::Plan& plan, const std::vector<Table>& tables, const std::vector<Feature>& features,
                   const Case& config);

}  // namespace shardmark::workloads
