// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/array.hpp"

namespace shardmark::kernels {

/// Sets before[b] to the number of pooled embeddings of the bags before bag b, for b = 0 .. bags: a bag has one, unless
/// it is empty and only_touched[b] is 1. lengths, only_touched: [bags]; before: [bags + 1].
template <class Exec>
void count_vectors(const Exec& exec, ConstArray<Exec, std::int32_t> lengths,
                   ConstArray<Exec, std::uint8_t> only_touched, Array<Exec, std::int64_t> before);

/// Writes the CSR offsets of `rows` bags of one id each and, behind them, of the bags of these lengths that have a
/// pooled embedding; behind the last bag stands the number of all ids. lengths: [bags]; before: [bags + 1] of
/// count_vectors, or empty when every bag has a pooled embedding; offsets: [rows + vectors + 1]; workspace: used on
/// devices.
template <class Exec>
void sum_lengths(const Exec& exec, std::int64_t rows, ConstArray<Exec, std::int32_t> lengths,
                 ConstArray<Exec, std::int64_t> before, Array<Exec, std::int64_t> offsets,
                 Scratch<Exec, std::uint32_t>& workspace);

/// Sets numbers[i] to i: the offsets of bags of one id each.
template <class Exec>
void count_up(const Exec& exec, Array<Exec, std::int64_t> numbers);

/// Sets taken[i] to values[at[i]].
template <class Exec>
void take(const Exec& exec, ConstArray<Exec, std::int64_t> values, ConstArray<Exec, std::int64_t> at,
          Array<Exec, std::int64_t> taken);

}  // namespace shardmark::kernels
