// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "reference/phase.hpp"

namespace shardmark::placement {

/// Names what a rank does in a step besides waiting for bytes, in units of which a machine model knows the seconds. The
/// table `terms` has a line for each; calibration measures each that its cases can distinguish.
enum class Term : std::size_t {
  route_step,
  route_cell,
  route_touched_bag,
  route_key,
  route_split_id,
  owned_id,
  sorted_id,
  sort_digit,
  lookup_step,
  lookup_bag,
  lookup_mixed_bag,
  lookup_id,
  lookup_value,
  lookup_line,
  lookup_vector_line,
  sorted_key,
  key_id,
  key,
  key_line,
  new_key,
  tt_flop,
  output_step,
  output_value,
  output_far_value,
  pooled_value,
  coded_value,
  gradient_step,
  gradient_value,
  summed_value,
  summed_id,
  gradient_far_value,
  coded_gradient,
  update_step,
  update_shard,
  update_id,
  update_sorted_id,
  update_value,
  update_row,
  exchanged_row,
  update_vector_line,
  update_gradient_line,
  update_ordered_line,
  optimizer_value,
  replicated_value,
  tt_gradient_flop,
};

struct TermChoice {
  std::string_view name;
  Phase phase;
  std::string_view unit;
  /// Counts the bytes of memory that kernels read and write for a unit, from which machines are described
  /// (machine_parts.hpp): ids, bags, rows and values as streams, lines as random rows. 0: no more than what other terms
  /// count, launches, or flops.
  double bytes = 0.0;
  /// Is the term that it is as fast as, by the bytes of both, where a machine is not known to be otherwise: no case of
  /// a calibration has it, or a file was written before there was the term.
  std::optional<Term> like = {};
};

inline constexpr std::array terms{
    TermChoice{"route.step", Phase::input_dist, "a step, or each of its groups"},
    TermChoice{"route.cell", Phase::input_dist, "bag x shard that its ids may go to, at the home and at the owner", 8},
    TermChoice{"route.touched_bag", Phase::input_dist, "bag with ids in a shard that answers for no others", 8},
    TermChoice{"route.key", Phase::input_dist,
               "time that the owner of an id of an own sample is found by the bucket of its key", 8, Term::owned_id},
    TermChoice{"route.split_id", Phase::input_dist, "id of an own sample whose owner is found by its row among several",
               8, Term::owned_id},
    TermChoice{"route.owned_id", Phase::input_dist, "id that this rank owns the row of", 16},
    TermChoice{"route.sorted_id", Phase::input_dist, "id x pass of the sort that finds the distinct ones", 310},
    TermChoice{"route.sort_digit", Phase::input_dist, "value of a digit x pass of that sort, however few ids", 155,
               Term::sorted_id},
    TermChoice{"lookup.step", Phase::lookup, "a step, or each of its groups"},
    TermChoice{"lookup.bag", Phase::lookup, "bag that is pooled", 16},
    TermChoice{"lookup.mixed_bag", Phase::lookup,
               "bag x shard of split rows: the fewer of those that name some and none"},
    TermChoice{"lookup.id", Phase::lookup, "id whose row is added", 8},
    TermChoice{"lookup.value", Phase::lookup, "id x column that is added, and bag x column that is written", 4},
    TermChoice{"lookup.line", Phase::lookup, "64 bytes of a row that come from memory because no cache holds them", 64},
    TermChoice{"lookup.vector_line", Phase::lookup, "64 bytes of vectors that are written beyond the caches"},
    TermChoice{"lookup.sorted_key", Phase::lookup, "id x pass of the sort that brings equal keys together", 310,
               Term::update_sorted_id},
    TermChoice{"lookup.key_id", Phase::lookup, "id of a key that is numbered by its first position in the batch", 310,
               Term::update_sorted_id},
    TermChoice{"lookup.key", Phase::lookup, "distinct key whose row is found", 32, Term::update_row},
    TermChoice{"lookup.key_line", Phase::lookup, "64 bytes of a key table or of uses of rows that no cache holds", 64,
               Term::lookup_line},
    TermChoice{"lookup.new_key", Phase::lookup, "key that is given a row", 640, Term::lookup_line},
    TermChoice{"train.flop", Phase::lookup, "flop of the products of a tensor train"},
    TermChoice{"output.step", Phase::output_dist, "a step, or each of its groups"},
    TermChoice{"output.value", Phase::output_dist,
               "value that is read or written in a cache as vectors are put together", 4},
    TermChoice{"output.far_value", Phase::output_dist, "the same of vectors that no cache holds", 4,
               Term::output_value},
    TermChoice{"output.pooled_value", Phase::output_dist, "id x column that is pooled at home", 4},
    TermChoice{"codec.value", Phase::output_dist, "value that is written or read in a narrow wire type", 6},
    TermChoice{"gradient.step", Phase::grad_dist, "a step, or each of its groups"},
    TermChoice{"gradient.value", Phase::grad_dist, "value that is read or written in a cache as gradients are copied",
               4},
    TermChoice{"gradient.summed_value", Phase::grad_dist, "id x column that is added to the gradient of its row", 8},
    TermChoice{"gradient.summed_id", Phase::grad_dist, "id whose gradient is added to that of its row"},
    TermChoice{"gradient.far_value", Phase::grad_dist, "the same of vectors that no cache holds", 4,
               Term::gradient_value},
    TermChoice{"codec.gradient", Phase::grad_dist, "value of a gradient written or read in a narrow wire type", 6},
    TermChoice{"update.step", Phase::update, "a step, or each of its groups"},
    TermChoice{"update.shard", Phase::update, "shard or copy of a table whose rows are updated"},
    TermChoice{"update.id", Phase::update, "id whose row is updated", 24},
    TermChoice{"update.sorted_id", Phase::update, "id x pass of the sort that brings equal rows together", 310},
    TermChoice{"update.value", Phase::update, "id x column whose gradient is added", 4},
    TermChoice{"update.row", Phase::update, "distinct row", 32},
    TermChoice{"update.exchanged_row", Phase::update, "distinct row x sum that holders of its columns exchange", 32},
    TermChoice{"update.vector_line", Phase::update,
               "64 bytes of gradients in the order of rows; an eighth where it follows others of its vector"},
    TermChoice{"update.gradient_line", Phase::update, "64 bytes of gradients that no cache holds", 0,
               Term::update_value},
    TermChoice{"update.ordered_line", Phase::update,
               "the same read in the order of ids, as those of few rows are: processors read ahead", 0,
               Term::update_gradient_line},
    TermChoice{"update.optimizer_value", Phase::update, "column of a distinct row x weight of its optimizer", 20},
    TermChoice{"update.replicated_value", Phase::update, "value of a table whose gradients are summed densely", 20},
    TermChoice{"train.gradient_flop", Phase::update, "flop of the gradients of a tensor train's slices"},
};

/// Holds how often each term occurs, or seconds by term.
using TermCounts = std::array<double, terms.size()>;

constexpr double& at(TermCounts& counts, Term term) { return counts[static_cast<std::size_t>(term)]; }
constexpr double at(const TermCounts& counts, Term term) { return counts[static_cast<std::size_t>(term)]; }

/// Returns the seconds of a term by those of the one that it is like.
constexpr double seconds_like(const TermChoice& term, const TermCounts& seconds) {
  const double bytes = terms[static_cast<std::size_t>(*term.like)].bytes;
  return (term.bytes == bytes ? 1.0 : term.bytes / bytes) * at(seconds, *term.like);
}

}  // namespace shardmark::placement
