// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/row_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <optional>

#include "reference/error.hpp"

namespace shardmark::workloads {
namespace {

/// Is consecutive local rows of cells that a rank holds, or some of them, or rows of some keys.
struct Piece {
  HeldCells cells;
  std::int64_t first = 0, count = 0;
  std::int64_t place = 0, step = 1;  ///< of the first row among those of the round, and from one to the next
  std::vector<std::int64_t> listed = {}, places = {};  ///< [count] local rows or keys, and their places in the round

  std::int64_t values(const ArrayLayout& layout) const { return count * layout.value_bytes(cells.columns()); }
  std::int64_t floats(const ArrayLayout& layout) const { return count * layout.state_floats(cells.columns()); }
  std::int64_t uses(const ArrayLayout& layout) const { return layout.has_uses() ? count : 0; }
  std::int64_t bytes(const ArrayLayout& layout) const {
    return values(layout) + 4 * floats(layout) + std::int64_t{sizeof(RowUse)} * uses(layout);
  }
  std::int64_t place_of(std::int64_t i) const { return places.empty() ? place + i * step : places[i]; }
};

/// Adds the rows of cells that are in a range, where there are any.
void add_range(const datasets::SavedRange& range, const HeldCells& cells, std::vector<Piece>& pieces) {
  const auto before = [&](std::int64_t row) {  // local rows of the cells that come before a row of the array
    return placement::RowSet{cells.rows.begin, std::min(row, cells.rows.end), cells.rows.stride}.count();
  };
  const std::int64_t first = before(range.first), count = before(range.end()) - first;
  if (count > 0) pieces.push_back({cells, first, count, cells.rows.global(first) - range.first, cells.rows.stride});
}

/// Adds the rows of cells that are listed, where there are any.
void add_listed(std::span<const std::int64_t> listed, const HeldCells& cells, std::vector<Piece>& pieces) {
  Piece piece{.cells = cells};
  const auto at_least = [&](std::int64_t row) { return std::ranges::lower_bound(listed, row) - listed.begin(); };
  const std::int64_t begin = at_least(cells.rows.begin), end = at_least(cells.rows.end);
  piece.listed.reserve(static_cast<std::size_t>(end - begin));
  piece.places.reserve(static_cast<std::size_t>(end - begin));
  for (std::int64_t i = begin; i < end; ++i) {
    if (!cells.rows.contains(listed[i])) continue;
    piece.listed.push_back(cells.rows.local(listed[i]));
    piece.places.push_back(i);
  }
  piece.count = std::ssize(piece.listed);
  if (piece.count > 0) pieces.push_back(std::move(piece));
}

/// Says which pieces of a rank's rows matter here: those of what this rank holds, or all.
struct PiecesOf {
  std::optional<int> holder;

  bool has(const HeldCells& cells) const { return !holder || cells.rank == *holder; }
};

/// Returns which pieces of the rows of `rank` concern rank `own`.
PiecesOf pieces_here(int rank, int own) { return rank == own ? PiecesOf{} : PiecesOf{own}; }

/// Adds a piece for each holder of rows whose keys are listed; `once`: of what several hold from the first alone.
void add_keys(const ArrayLayout& layout, std::span<const std::int64_t> listed, const PiecesOf& some, bool once,
              std::vector<Piece>& pieces) {
  std::vector<std::int64_t> buckets;
  for (const std::int64_t key : listed) buckets.push_back(layout.bucket(key));
  std::vector<Piece> of_holders(layout.holders.size());
  for (const std::vector<std::int64_t>& holders : layout.holders_of_buckets)
    for (std::int64_t i = 0; i < std::ssize(listed); ++i) {
      const std::int64_t holder = holders[buckets[i]];
      if (holder < 0 || !some.has(layout.holders[holder])) continue;
      if (once && layout.has_copies() && layout.holders[holder].repeats) continue;
      of_holders[holder].listed.push_back(listed[i]);
      of_holders[holder].places.push_back(i);
    }
  for (std::size_t h = 0; h < of_holders.size(); ++h) {
    if (of_holders[h].listed.empty()) continue;
    of_holders[h].cells = layout.holders[h];
    of_holders[h].count = std::ssize(of_holders[h].listed);
    pieces.push_back(std::move(of_holders[h]));
  }
}

/// Returns the pieces of a rank's rows: of those that one rank holds, and of those that every rank holds once for each
/// of `replicas`; `once`: of what holders of other columns have too from the first alone.
std::vector<Piece> pieces_of(const ArrayLayout& layout, const RoundRows& rows, const PiecesOf& some,
                             const std::vector<int>& replicas, bool once) {
  std::vector<Piece> pieces;
  if (rows.range.count == 0) return pieces;
  if (layout.keyed) {
    add_keys(layout, rows.listed, some, once, pieces);
    return pieces;
  }
  datasets::SavedRange range = rows.range;
  if (!rows.listed.empty()) range.first = rows.listed.front();
  const bool has_gaps = !rows.listed.empty() && rows.listed.back() - range.first >= range.count;
  const auto add = [&](const HeldCells& cells) {
    has_gaps ? add_listed(rows.listed, cells, pieces) : add_range(range, cells, pieces);
  };
  for (const HeldCells& cells : layout.holders)
    if (some.has(cells)) add(cells);
  for (const int rank : replicas) {
    HeldCells cells = layout.replica;
    cells.rank = rank;
    if (cells.rows.count() > 0 && some.has(cells)) add(cells);
  }
  return pieces;
}

/// Copies the cells of a piece between whole rows, whose last fields are values and state, and rows as a store has
/// them; of numbers beside the columns, which all who hold a row have, the holder of its first column gives them.
template <bool to_whole, class Whole, class Byte>
void copy(const ArrayLayout& layout, const Piece& piece, Whole& whole, Byte* values, Byte* state, Byte* uses) {
  const HeldCells& cells = piece.cells;
  const std::int64_t columns = cells.columns(), size = layout.value_bytes(1),
                     all_state = layout.state_floats(layout.dim);
  const auto move = [](auto* own, auto* other, std::int64_t bytes) {
    if constexpr (to_whole)
      std::memcpy(own, other, static_cast<std::size_t>(bytes));
    else
      std::memcpy(other, own, static_cast<std::size_t>(bytes));
  };
  constexpr std::size_t use_field = 1;  // behind the key
  const std::size_t state_field = whole.size() - 1, value_field = state_field - (all_state > 0 ? 1 : 0);
  if (piece.places.empty() && piece.step == 1 && columns == layout.dim) {  // whole rows, back to back on both sides
    move(whole[value_field].data() + piece.place * columns * size, values, piece.values(layout));
    if (all_state > 0) move(whole[state_field].data() + 4 * piece.place * all_state, state, 4 * piece.floats(layout));
    return;
  }
  for (std::int64_t i = 0; i < piece.count; ++i) {
    const std::int64_t row = piece.place_of(i);
    if (layout.has_uses()) {
      constexpr std::int64_t bytes = sizeof(RowUse);
      if (!to_whole || !cells.repeats) move(whole[use_field].data() + row * bytes, uses, bytes);
      uses += bytes;
    }
    move(whole[value_field].data() + (row * layout.dim + cells.column_begin) * size, values, columns * size);
    values += columns * size;
    if (all_state == 0) continue;
    auto* whole_state = whole[state_field].data() + 4 * row * all_state;
    for (std::int64_t v = 0; v < layout.vectors; ++v, state += 4 * columns)
      move(whole_state + 4 * (v * layout.dim + cells.column_begin), state, 4 * columns);
    if (!to_whole || !cells.repeats) move(whole_state + 4 * layout.vectors * layout.dim, state, 4 * layout.scalars);
    state += 4 * layout.scalars;
  }
}

StoredRows room_for(const ArrayLayout& layout, const Piece& piece) {
  return {std::vector<std::byte>(static_cast<std::size_t>(piece.values(layout))),
          std::vector<float>(static_cast<std::size_t>(piece.floats(layout))),
          std::vector<RowUse>(static_cast<std::size_t>(piece.uses(layout)))};
}

StoredRows read_piece(const HeldRows& held, const ArrayLayout& layout, const Piece& piece) {
  if (layout.keyed) return held.read_keys(layout, piece.cells, piece.listed);
  return piece.listed.empty() ? held.read(layout, piece.cells, piece.first, piece.count)
                              : held.read_listed(layout, piece.cells, piece.listed);
}
void write_piece(HeldRows& held, const ArrayLayout& layout, const Piece& piece, const StoredRows& stored) {
  if (layout.keyed) return held.write_keys(layout, piece.cells, piece.listed, stored);
  piece.listed.empty() ? held.write(layout, piece.cells, piece.first, stored)
                       : held.write_listed(layout, piece.cells, piece.listed, stored);
}

/// Names where values, state and uses of a piece lie.
template <class Byte>
struct PieceBytes {
  Byte *values, *state, *uses;
};

template <class Stored>
auto bytes_in(Stored& stored) {
  const auto bytes = [](auto& elements) {
    if constexpr (std::is_const_v<Stored>)
      return std::as_bytes(std::span(elements)).data();
    else
      return std::as_writable_bytes(std::span(elements)).data();
  };
  using Byte = std::conditional_t<std::is_const_v<Stored>, const std::byte, std::byte>;
  return PieceBytes<Byte>{bytes(stored.values), bytes(stored.state), bytes(stored.uses)};
}

/// Walks through one message with each rank: of each piece the values, the state, then the uses.
class Letters {
 public:
  Letters(const std::vector<std::int64_t>& bytes, std::vector<datasets::Bytes>& by_rank) {
    by_rank.resize(bytes.size());
    for (std::size_t r = 0; r < bytes.size(); ++r) {
      by_rank[r].resize(static_cast<std::size_t>(bytes[r]));
      at_.push_back(by_rank[r].data());
    }
  }
  /// Returns where the piece lies that comes next in the message with a rank.
  PieceBytes<std::byte> next(int rank, const ArrayLayout& layout, const Piece& piece) {
    std::byte* const values = at_[rank];
    at_[rank] += piece.bytes(layout);
    std::byte* const state = values + piece.values(layout);
    return {values, state, state + 4 * piece.floats(layout)};
  }

 private:
  std::vector<std::byte*> at_;
};

}  // namespace

HeldRows::HeldRows(ShardedTables& tables, DenseModel& dense, std::int64_t vectors) : tables_(tables), dense_(dense) {
  const auto weights = std::as_bytes(dense.parameters());
  const std::int64_t rows = std::ssize(dense.parameters());
  weights_.values.assign(weights.begin(), weights.end());
  weights_.state.resize(static_cast<std::size_t>(rows * vectors));
  for (std::int64_t v = 0; v < vectors; ++v) {
    const auto state = dense.state(static_cast<int>(v));
    for (std::int64_t i = 0; i < rows; ++i) weights_.state[i * vectors + v] = state[i];
  }
}

StoredRows HeldRows::read(const ArrayLayout& layout, const HeldCells& cells, std::int64_t first,
                          std::int64_t count) const {
  if (layout.table >= 0) return tables_.store_of(cells.shard).read_range(cells.shard, layout.part, first, count);
  const auto values = weights_.values.begin() + 4 * first;
  const auto state = weights_.state.begin() + layout.vectors * first;
  return {{values, values + 4 * count}, {state, state + layout.vectors * count}};
}

void HeldRows::write(const ArrayLayout& layout, const HeldCells& cells, std::int64_t first, const StoredRows& rows) {
  if (layout.table >= 0) return tables_.store_of(cells.shard).write_range(cells.shard, layout.part, first, rows);
  std::ranges::copy(rows.values, weights_.values.begin() + 4 * first);
  std::ranges::copy(rows.state, weights_.state.begin() + layout.vectors * first);
}

StoredRows HeldRows::read_listed(const ArrayLayout& layout, const HeldCells& cells,
                                 const std::vector<std::int64_t>& local_rows) const {
  return tables_.store_of(cells.shard).read_listed(cells.shard, layout.part, local_rows);
}

void HeldRows::write_listed(const ArrayLayout& layout, const HeldCells& cells,
                            const std::vector<std::int64_t>& local_rows, const StoredRows& rows) {
  tables_.store_of(cells.shard).write_listed(cells.shard, layout.part, local_rows, rows);
}

StoredRows HeldRows::read_keys(const ArrayLayout& layout, const HeldCells& cells,
                               const std::vector<std::int64_t>& keys) const {
  return tables_.store_of(cells.shard).read_keys(cells.shard, *layout.keyed, keys);
}

void HeldRows::write_keys(const ArrayLayout& layout, const HeldCells& cells, const std::vector<std::int64_t>& keys,
                          const StoredRows& rows) {
  if (!no_room_.empty()) return;
  try {
    tables_.store_of(cells.shard).write_keys(cells.shard, *layout.keyed, keys, rows);
  } catch (const std::exception& error) {
    no_room_ = error.what();
  }
}

void HeldRows::require_room() const {
  if (!no_room_.empty()) throw InputError(no_room_);
}

void HeldRows::complete(std::int64_t steps) {
  if (weights_.values.empty()) return;
  std::vector<float> weights(weights_.values.size() / 4);
  std::memcpy(weights.data(), weights_.values.data(), weights_.values.size());
  const std::size_t vectors = weights_.state.size() / weights.size();
  std::vector<std::vector<float>> state(vectors, std::vector<float>(weights.size()));
  for (std::size_t i = 0; i < weights_.state.size(); ++i) state[i % vectors][i / vectors] = weights_.state[i];
  dense_.resume(weights, state, steps);
}

const datasets::SavedRows& BlockExchange::collect(const std::vector<RoundRows>& ranges, const HeldRows& held) {
  const int own = comm_.rank(), ranks = comm_.size();
  const auto layout_of = [&](int rank) -> const ArrayLayout& { return layout_.layouts[ranges[rank].range.array]; };
  std::vector<std::vector<Piece>> pieces;  // of the range of each rank
  std::vector<std::int64_t> in(static_cast<std::size_t>(ranks)), out(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    pieces.push_back(pieces_of(layout_of(r), ranges[r], pieces_here(r, own), {r}, true));
    for (const Piece& piece : pieces.back()) {
      if (r != own && piece.cells.rank == own) out[r] += piece.bytes(layout_of(r));
      if (r == own && piece.cells.rank != own) in[piece.cells.rank] += piece.bytes(layout_of(r));
    }
  }
  Letters sent(out, sent_), received(in, received_);
  for (int r = 0; r < ranks; ++r)
    if (in[r] > 0) messages_.receive(received_[r], r);
  for (int r = 0; r < ranks; ++r) {
    if (out[r] == 0) continue;
    for (const Piece& piece : pieces[r]) {
      if (piece.cells.rank != own) continue;
      const StoredRows stored = read_piece(held, layout_of(r), piece);
      const auto [values, state, uses] = sent.next(r, layout_of(r), piece);
      std::ranges::copy(stored.values, values);
      std::ranges::copy(std::as_bytes(std::span(stored.state)), state);
      std::ranges::copy(std::as_bytes(std::span(stored.uses)), uses);
    }
    messages_.send(sent_[r], r);
  }
  const datasets::SavedRange& range = ranges[own].range;
  if (range.count > 0) datasets::make_room(layout_.arrays[range.array], range.count, rows_);
  if (!ranges[own].listed.empty())
    put_row_numbers(layout_.arrays[range.array].fields.front(), ranges[own].listed, rows_.front());
  for (const Piece& piece : pieces[own]) {
    if (piece.cells.rank != own) continue;
    const StoredRows stored = read_piece(held, layout_of(own), piece);
    const auto [values, state, uses] = bytes_in(stored);
    copy<true>(layout_of(own), piece, rows_, values, state, uses);
  }
  messages_.wait();
  for (const Piece& piece : pieces[own]) {
    if (piece.cells.rank == own) continue;
    const auto [values, state, uses] = received.next(piece.cells.rank, layout_of(own), piece);
    copy<true>(layout_of(own), piece, rows_, values, state, uses);
  }
  return rows_;
}

void BlockExchange::spread(const std::vector<RoundRows>& ranges, const datasets::SavedRows& rows, HeldRows& held) {
  const int own = comm_.rank(), ranks = comm_.size();
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const auto layout_of = [&](int rank) -> const ArrayLayout& { return layout_.layouts[ranges[rank].range.array]; };
  std::vector<std::vector<Piece>> pieces;  // of the range of each rank
  std::vector<std::int64_t> in(static_cast<std::size_t>(ranks)), out(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    pieces.push_back(pieces_of(layout_of(r), ranges[r], pieces_here(r, own), all, false));
    for (const Piece& piece : pieces.back()) {
      if (r != own && piece.cells.rank == own) in[r] += piece.bytes(layout_of(r));
      if (r == own && piece.cells.rank != own) out[piece.cells.rank] += piece.bytes(layout_of(r));
    }
  }
  Letters sent(out, sent_), received(in, received_);
  for (int r = 0; r < ranks; ++r)
    if (in[r] > 0) messages_.receive(received_[r], r);
  for (const Piece& piece : pieces[own]) {
    if (piece.cells.rank == own) continue;
    const auto [values, state, uses] = sent.next(piece.cells.rank, layout_of(own), piece);
    copy<false>(layout_of(own), piece, rows, values, state, uses);
  }
  for (int r = 0; r < ranks; ++r)
    if (out[r] > 0) messages_.send(sent_[r], r);
  for (const Piece& piece : pieces[own]) {
    if (piece.cells.rank != own) continue;
    StoredRows stored = room_for(layout_of(own), piece);
    const auto [values, state, uses] = bytes_in(stored);
    copy<false>(layout_of(own), piece, rows, values, state, uses);
    write_piece(held, layout_of(own), piece, stored);
  }
  messages_.wait();
  for (int r = 0; r < ranks; ++r)
    for (const Piece& piece : pieces[r]) {
      if (r == own || piece.cells.rank != own) continue;
      StoredRows stored = room_for(layout_of(r), piece);
      const auto [values, state, uses] = received.next(r, layout_of(r), piece);
      const auto [own_values, own_state, own_uses] = bytes_in(stored);
      std::copy_n(values, stored.values.size(), own_values);
      std::copy_n(state, 4 * stored.state.size(), own_state);
      std::copy_n(uses, sizeof(RowUse) * stored.uses.size(), own_uses);
      write_piece(held, layout_of(r), piece, stored);
    }
}

std::int64_t BlockExchange::sent() const {
  const auto& sent = messages_.sent();
  return std::reduce(sent.begin(), sent.end());
}

}  // namespace shardmark::workloads
