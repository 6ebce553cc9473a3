// SPDX-License-Identifier: Apache-2.0
#include "workloads/checkpoint/row_pieces.hpp"

#include <algorithm>
#include <cstring>
#include <numeric>

namespace shardmark::workloads {
namespace {

/// Is consecutive local rows of cells that a rank holds.
struct Piece {
  HeldCells cells;
  std::int64_t first = 0, count = 0;
  std::int64_t place = 0, step = 1;  ///< of the first row among those of the round, and from one to the next

  std::int64_t values(const ArrayLayout& layout) const { return count * layout.value_bytes(cells.columns()); }
  std::int64_t floats(const ArrayLayout& layout) const { return count * layout.state_floats(cells.columns()); }
  std::int64_t bytes(const ArrayLayout& layout) const { return values(layout) + 4 * floats(layout); }
};

/// Adds the rows of cells that are in a range, where there are any.
void add_range(const datasets::SavedRange& range, const HeldCells& cells, std::vector<Piece>& pieces) {
  const auto before = [&](std::int64_t row) {  // local rows of the cells that come before a row of the array
    return placement::RowSet{cells.rows.begin, std::min(row, cells.rows.end), cells.rows.stride}.count();
  };
  const std::int64_t first = before(range.first), count = before(range.end()) - first;
  if (count > 0) pieces.push_back({cells, first, count, cells.rows.global(first) - range.first, cells.rows.stride});
}

/// Adds the rows of cells that are listed, those that follow each other in both as one piece.
void add_listed(std::span<const std::int64_t> listed, const HeldCells& cells, std::vector<Piece>& pieces) {
  bool follows = false;
  for (std::int64_t i = 0; i < std::ssize(listed); ++i) {
    const bool held = cells.rows.contains(listed[i]);
    if (held && follows && cells.rows.local(listed[i]) == pieces.back().first + pieces.back().count)
      ++pieces.back().count;
    else if (held)
      pieces.push_back({cells, cells.rows.local(listed[i]), 1, i, 1});
    follows = held;
  }
}

/// Returns all pieces of a rank's rows: of those that one rank holds, and of those that every rank holds once for each
/// of `replicas`.
std::vector<Piece> pieces_of(const ArrayLayout& layout, const RoundRows& rows, const std::vector<int>& replicas) {
  std::vector<Piece> pieces;
  if (rows.range.count == 0) return pieces;
  const auto add = [&](const HeldCells& cells) {
    rows.listed.empty() ? add_range(rows.range, cells, pieces) : add_listed(rows.listed, cells, pieces);
  };
  for (const HeldCells& cells : layout.holders) add(cells);
  for (const int rank : replicas) {
    HeldCells cells = layout.replica;
    cells.rank = rank;
    if (cells.rows.count() > 0) add(cells);
  }
  return pieces;
}

/// Copies the cells of a piece between whole rows, whose last fields are values and state, and rows as a store has
/// them; of numbers beside the columns, which all who hold a row have, the holder of its first column gives them.
template <bool to_whole, class Whole, class Stored>
void copy(const ArrayLayout& layout, const Piece& piece, Whole& whole, Stored& stored) {
  const HeldCells& cells = piece.cells;
  const std::int64_t columns = cells.columns(), size = layout.value_bytes(1),
                     all_state = layout.state_floats(layout.dim);
  const auto move = [](auto* own, auto* other, std::int64_t bytes) {
    if constexpr (to_whole)
      std::memcpy(own, other, static_cast<std::size_t>(bytes));
    else
      std::memcpy(other, own, static_cast<std::size_t>(bytes));
  };
  const std::size_t state_field = whole.size() - 1, value_field = state_field - (all_state > 0 ? 1 : 0);
  auto* values = stored.values.data();
  auto* state = stored.state.data();
  for (std::int64_t i = 0; i < piece.count; ++i) {
    const std::int64_t row = piece.place + i * piece.step;
    move(whole[value_field].data() + (row * layout.dim + cells.column_begin) * size, values, columns * size);
    values += columns * size;
    if (all_state == 0) continue;
    auto* whole_state = whole[state_field].data() + 4 * row * all_state;
    for (std::int64_t v = 0; v < layout.vectors; ++v, state += columns)
      move(whole_state + 4 * (v * layout.dim + cells.column_begin), state, 4 * columns);
    if (!to_whole || cells.column_begin == 0)
      move(whole_state + 4 * layout.vectors * layout.dim, state, 4 * layout.scalars);
    state += layout.scalars;
  }
}

StoredRows room_for(const ArrayLayout& layout, const Piece& piece) {
  return {std::vector<std::byte>(static_cast<std::size_t>(piece.values(layout))),
          std::vector<float>(static_cast<std::size_t>(piece.floats(layout)))};
}

std::byte* append(const StoredRows& rows, std::byte* to) {
  to = std::ranges::copy(rows.values, to).out;
  return std::ranges::copy(std::as_bytes(std::span(rows.state)), to).out;
}

const std::byte* take(const std::byte* from, StoredRows& rows) {
  std::memcpy(rows.values.data(), from, rows.values.size());
  from += rows.values.size();
  std::memcpy(rows.state.data(), from, 4 * rows.state.size());
  return from + 4 * rows.state.size();
}

/// Holds one message with each rank.
struct Letters {
  std::vector<std::vector<std::byte>> by_rank;
  std::vector<std::byte*> at;

  explicit Letters(std::size_t ranks) : by_rank(ranks), at(ranks) {}
  void allocate(const std::vector<std::int64_t>& bytes) {
    for (std::size_t r = 0; r < by_rank.size(); ++r) {
      by_rank[r].resize(static_cast<std::size_t>(bytes[r]));
      at[r] = by_rank[r].data();
    }
  }
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

void HeldRows::complete(std::int64_t steps) {
  if (weights_.values.empty()) return;
  std::vector<float> weights(weights_.values.size() / 4);
  std::memcpy(weights.data(), weights_.values.data(), weights_.values.size());
  const std::size_t vectors = weights_.state.size() / weights.size();
  std::vector<std::vector<float>> state(vectors, std::vector<float>(weights.size()));
  for (std::size_t i = 0; i < weights_.state.size(); ++i) state[i % vectors][i / vectors] = weights_.state[i];
  dense_.resume(weights, state, steps);
}

datasets::SavedRows BlockExchange::collect(const std::vector<RoundRows>& ranges, const HeldRows& held) {
  const int own = comm_.rank(), ranks = comm_.size();
  const datasets::SavedRange& range = ranges[own].range;
  const auto layout_of = [&](const datasets::SavedRange& each) -> const ArrayLayout& {
    return layout_.layouts[each.array];
  };
  const auto local = [&](int rank) { return pieces_of(layout_of(ranges[rank].range), ranges[rank], {rank}); };

  Letters sent(static_cast<std::size_t>(ranks)), received(static_cast<std::size_t>(ranks));
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks));
  const std::vector<Piece> wanted = local(own);
  for (const Piece& piece : wanted)
    if (piece.cells.rank != own) bytes[piece.cells.rank] += piece.bytes(layout_of(range));
  received.allocate(bytes);
  for (int r = 0; r < ranks; ++r)
    if (!received.by_rank[r].empty()) messages_.receive(received.by_rank[r], r);
  for (int r = 0; r < ranks; ++r) {
    if (r == own) continue;
    for (const Piece& piece : local(r)) {
      if (piece.cells.rank != own) continue;
      auto& letter = sent.by_rank[r];
      const std::size_t before = letter.size();
      letter.resize(before + static_cast<std::size_t>(piece.bytes(layout_of(ranges[r].range))));
      append(held.read(layout_of(ranges[r].range), piece.cells, piece.first, piece.count), letter.data() + before);
    }
    if (!sent.by_rank[r].empty()) messages_.send(sent.by_rank[r], r);
  }
  datasets::SavedRows rows;
  if (range.count > 0) rows = datasets::room_for(layout_.arrays[range.array], range.count);
  if (!ranges[own].listed.empty()) std::ranges::copy(std::as_bytes(ranges[own].listed), rows.front().begin());
  const auto place = [&](const Piece& piece, StoredRows stored) { copy<true>(layout_of(range), piece, rows, stored); };
  for (const Piece& piece : wanted)
    if (piece.cells.rank == own) place(piece, held.read(layout_of(range), piece.cells, piece.first, piece.count));
  messages_.wait();
  for (const Piece& piece : wanted) {
    if (piece.cells.rank == own) continue;
    StoredRows stored = room_for(layout_of(range), piece);
    take(received.at[piece.cells.rank], stored);
    received.at[piece.cells.rank] += piece.bytes(layout_of(range));
    place(piece, std::move(stored));
  }
  return rows;
}

void BlockExchange::spread(const std::vector<RoundRows>& ranges, const datasets::SavedRows& rows, HeldRows& held) {
  const int own = comm_.rank(), ranks = comm_.size();
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  const auto layout_of = [&](int rank) -> const ArrayLayout& { return layout_.layouts[ranges[rank].range.array]; };

  Letters sent(static_cast<std::size_t>(ranks)), received(static_cast<std::size_t>(ranks));
  std::vector<std::vector<Piece>> pieces;
  std::vector<std::int64_t> bytes(static_cast<std::size_t>(ranks)), own_bytes(static_cast<std::size_t>(ranks));
  for (int r = 0; r < ranks; ++r) {
    pieces.push_back(pieces_of(layout_of(r), ranges[r], all));
    for (const Piece& piece : pieces.back()) {
      if (r != own && piece.cells.rank == own) bytes[r] += piece.bytes(layout_of(r));
      if (r == own) own_bytes[piece.cells.rank] += piece.bytes(layout_of(r));
    }
  }
  received.allocate(bytes);
  sent.allocate(own_bytes);
  for (int r = 0; r < ranks; ++r)
    if (!received.by_rank[r].empty()) messages_.receive(received.by_rank[r], r);
  for (const Piece& piece : pieces[own]) {
    StoredRows stored = room_for(layout_of(own), piece);
    copy<false>(layout_of(own), piece, rows, stored);
    if (piece.cells.rank == own)
      held.write(layout_of(own), piece.cells, piece.first, stored);
    else
      sent.at[piece.cells.rank] = append(stored, sent.at[piece.cells.rank]);
  }
  for (int r = 0; r < ranks; ++r)
    if (r != own && !sent.by_rank[r].empty()) messages_.send(sent.by_rank[r], r);
  messages_.wait();
  for (int r = 0; r < ranks; ++r) {
    if (r == own) continue;
    const std::byte* from = received.by_rank[r].data();
    for (const Piece& piece : pieces[r]) {
      if (piece.cells.rank != own) continue;
      StoredRows stored = room_for(layout_of(r), piece);
      from = take(from, stored);
      held.write(layout_of(r), piece.cells, piece.first, stored);
    }
  }
}

std::int64_t BlockExchange::sent() const {
  const auto& sent = messages_.sent();
  return std::reduce(sent.begin(), sent.end());
}

}  // namespace shardmark::workloads
