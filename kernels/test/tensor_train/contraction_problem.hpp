// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>

#include "kernels/tensor_train/contract_rows.hpp"
#include "kernels/tensor_train/slice_gradients.hpp"
#include "kernels/test/bags.hpp"
#include "kernels/test/host_table.hpp"
#include "reference/tensor_train/contraction.hpp"

namespace shardmark::kernels::test {

using Row = std::vector<double>;
using SumsOfSlices = std::map<std::pair<int, std::int64_t>, Row>;  ///< by core of the table and slice

/// The cores of a table on the host, in the table's own order, and the definition of its rows and gradients.
struct HostTt {
  TensorTrainShape shape;
  ValueType value_type = ValueType::fp32;
  bool mirrored = false;          ///< how the kernels are to contract it
  std::vector<HostTable> cores;   ///< by core of the table
  std::vector<std::int64_t> ids;  ///< rows that are asked for
  reference::RowContraction contraction;
  std::array<Row, TensorTrainShape::most_cores> slice_values;  ///< of the latest row

  HostTt(const TensorTrainShape& of, ValueType type, bool mirror, Random& random, bool exact)
      : shape(of), value_type(type), mirrored(mirror), contraction(of) {
    std::normal_distribution<float> normal;
    for (int t = 0; t < shape.cores; ++t) {
      HostTable& core = cores.emplace_back(type, shape.p[t], shape.slice_elements(t));
      std::vector<float> slice(at(core.dim));
      for (std::int64_t i = 0; i < shape.p[t]; ++i) {
        for (auto& x : slice) x = exact ? static_cast<float>(draw(random, -1, 1)) : normal(random);
        core.set_row(i, slice);
      }
    }
  }

  reference::Slices slices(std::int64_t id, bool magnitude) {
    reference::Slices result;
    for (int t = 0; t < shape.cores; ++t) {
      const auto slice = cores[at(t)].row(shape.digits(id)[at(t)]);
      slice_values[at(t)].assign(slice.begin(), slice.end());
      if (magnitude)
        for (auto& x : slice_values[at(t)]) x = std::abs(x);
      result[at(t)] = slice_values[at(t)];
    }
    return result;
  }

  /// By the definition, or by that of the magnitudes of its terms.
  Row row(std::int64_t id, bool magnitude) {
    const auto row = contraction.row(slices(id, magnitude));
    return {row.begin(), row.end()};
  }
  /// Adds row `id`'s share, its gradient being g, to sums[core, slice].
  void add_gradients(std::int64_t id, std::span<const float> g, bool magnitude, SumsOfSlices& sums) {
    contraction.row(slices(id, magnitude));
    const auto digits = shape.digits(id);
    reference::SliceGradients targets;
    for (int t = 0; t < shape.cores; ++t) {
      Row& sum = sums[{t, digits[at(t)]}];
      sum.resize(at(shape.slice_elements(t)));
      targets[at(t)] = sum;
    }
    Row gradient(g.begin(), g.end());
    if (magnitude)
      for (auto& x : gradient) x = std::abs(x);
    contraction.add_gradients(gradient, targets);
  }

  /// Core of the table that the kernels know as core t.
  int core(int t) const { return mirrored ? shape.cores - 1 - t : t; }
  TensorTrainShape contracted_shape() const {
    TensorTrainShape result{.cores = shape.cores};
    for (int t = 0; t < shape.cores; ++t) {
      result.p[at(t)] = shape.p[at(core(t))];
      result.q[at(t)] = shape.q[at(core(t))];
      result.r[at(t)] = shape.r[at(mirrored ? shape.cores - t : t)];
    }
    result.r[at(shape.cores)] = 1;
    return result;
  }
  /// The number of a row whose digits the kernels read in their order.
  std::int64_t contracted_row(std::int64_t id) const {
    std::int64_t number = 0;
    for (int t = 0; t < shape.cores; ++t) number = number * shape.p[at(core(t))] + shape.digits(id)[at(core(t))];
    return number;
  }
  /// Place in the table's slice of element e of the kernels'.
  std::int64_t element(int t, std::int64_t e) const {
    if (!mirrored) return e;
    const std::int64_t q = shape.q[at(core(t))], r_in = shape.r[at(core(t))], r_out = shape.r[at(core(t) + 1)];
    const std::int64_t b = e / (q * r_in), j = e / r_in % q, a = e % r_in;
    return (a * q + j) * r_out + b;
  }
};

using HostSpace = Kokkos::DefaultHostExecutionSpace;

/// The same array, rows, or gradients of rows, where the host can read them.
template <class T>
auto on_host(const Array<Space, T>& array) {
  return Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), array);
}
inline UniqueRows<HostSpace> on_host(const UniqueRows<Space>& unique) {
  return {on_host(unique.words), on_host(unique.segments), on_host(unique.total), unique.position_bits};
}
inline RowGradients<HostSpace> on_host(const RowGradients<Space>& of) {
  return {on_host(of.unique), on_host(of.gradient_offset), on_host(of.weights), on_host(of.gradients)};
}

inline std::int64_t longest_chain(const TensorTrainShape& shape) {
  std::int64_t sum = 16;
  for (int t = 0; t <= shape.cores; ++t) sum += shape.r[at(t)] * 2 + shape.q[at(t % 6)];
  return sum;
}

/// Tables of a rank and the kernels' results for them.
struct Contraction {
  std::vector<HostTt> tables;
  Space exec;
  std::vector<Array<Space, char>> stored;  ///< bytes of the cores as the kernels want them
  std::vector<TensorTrainCores> cores;
  std::vector<std::pair<std::size_t, std::int64_t>> rows;  ///< table and id of each distinct row, in the kernels' order
  std::vector<float> gradients;                            ///< [distinct rows, stride], in the order of first use
  std::int64_t stride = 0;
  TensorTrains<Space> tts;
  UniqueRowsWorkspace<Space> sort;
  PrefixTreeWorkspace<Space> tree_workspace;
  TensorTrainWorkspace<Space> workspace;
  RowGradientsWorkspace<Space> gradients_workspace;
  UniqueRows<Space> unique;
  PrefixTree<Space> tree;

  explicit Contraction(std::vector<HostTt> of, const Space& on = {}) : tables(std::move(of)), exec(on) {
    std::int64_t key = 0, slice = 0;
    for (const auto& table : tables)
      for (int t = 0; t < table.shape.cores; ++t) {
        const auto shape = table.contracted_shape();
        HostTable core(table.value_type, shape.p[at(t)], shape.slice_elements(t));
        std::vector<float> row(at(core.dim));
        for (std::int64_t i = 0; i < shape.p[at(t)]; ++i) {
          for (std::int64_t e = 0; e < core.dim; ++e)
            row[at(e)] = table.cores[at(table.core(t))].row(i)[at(table.element(t, e))];
          core.set_row(i, row);
        }
        stored.push_back(array_of(exec, core.bytes, "core"));
      }
    for (std::size_t next = 0; const auto& table : tables) {
      TensorTrainCores& result = cores.emplace_back();
      result = {.shape = table.contracted_shape(),
                .value_type = table.value_type,
                .first_key = key,
                .mirrored = table.mirrored,
                .dim = table.shape.dim()};
      for (int t = 0; t < table.shape.cores; ++t, slice += result.shape.p[at(t - 1)]) {
        result.cores[at(t)] = stored[next++].data();
        result.first_slice[at(t)] = slice;
      }
      key += table.shape.rows();
      stride = std::max(stride, result.dim + 3);
    }
    tts = tensor_trains(exec, cores);
    sort_rows(key);
  }

  /// Gradients that are multiples of 1/4, or any.
  void add_gradients(Random& random, bool exact) {
    std::normal_distribution<float> normal;
    for (auto& g : gradients) g = exact ? 0.25F * static_cast<float>(draw(random, -2, 2)) : normal(random);
  }

  std::vector<float> contracted() {
    const Array<Space, float> out("rows", std::size_t{rows.size()} * at(stride));
    contract_rows<Space>(exec, tree, tts, workspace, out, stride);
    exec.fence();
    return host(out);
  }
  RowGradients<Space> sliced(SliceSums order) {
    return slice_gradients<Space>(exec, tree, tts, array_of(exec, gradients, "gradients"), order, workspace);
  }
  /// The gradient of every slice that has one, by its key.
  std::map<std::int64_t, std::vector<float>> slice_sums(SliceSums order) {
    const auto result = on_host(sliced(order));
    std::map<std::int64_t, std::vector<float>> sums;
    for (std::int64_t u = 0; u < result.unique.count(); ++u) {
      auto& sum = sums[result.unique.key(u)];
      sum.resize(at(slice_elements(result.unique.key(u))));
      for (auto i = result.unique.begin(u); i < result.unique.begin(u + 1); ++i)
        for (std::size_t e = 0; e < sum.size(); ++e) sum[e] += result.gradients(result.vector_begin(i) + e);
    }
    return sums;
  }

  struct Place {
    std::size_t table;
    int t;
    std::int64_t slice;
  };
  Place place_of(std::int64_t key) const {
    for (std::size_t s = 0; s < cores.size(); ++s)
      for (int t = 0; t < cores[s].shape.cores; ++t)
        if (key >= cores[s].first_slice[at(t)] && key < cores[s].first_slice[at(t)] + cores[s].shape.p[at(t)])
          return {s, t, key - cores[s].first_slice[at(t)]};
    throw std::logic_error("no slice");
  }
  std::int64_t slice_elements(std::int64_t key) const {
    const Place place = place_of(key);
    return cores[place.table].shape.slice_elements(place.t);
  }
  /// By the definition: of every table, of (core of the table, slice).
  std::vector<SumsOfSlices> expected_sums(bool magnitude) {
    std::vector<SumsOfSlices> sums(tables.size());
    const auto of_rows = on_host(unique);
    for (std::size_t u = 0; u < rows.size(); ++u) {
      const auto& [s, id] = rows[u];
      const auto begin = of_rows.position(of_rows.begin(static_cast<std::int64_t>(u)));
      tables[s].add_gradients(id, std::span(gradients).subspan(at(begin), at(cores[s].dim)), magnitude, sums[s]);
    }
    return sums;
  }

 private:
  void sort_rows(std::int64_t key_bound) {
    std::vector<std::int64_t> keys, places;
    std::map<std::int64_t, std::pair<std::size_t, std::int64_t>> row_of;
    for (std::size_t s = 0; s < tables.size(); ++s)
      for (const std::int64_t id : tables[s].ids) {
        keys.push_back(cores[s].first_key + tables[s].contracted_row(id));
        places.push_back(std::ssize(places) * stride);
        row_of[keys.back()] = {s, id};
      }
    for (const auto& [key, row] : row_of) rows.push_back(row);
    gradients.resize(keys.size() * at(stride));
    unique = unique_rows<Space>(exec, array_of(exec, keys, "keys"), key_bound, array_of(exec, places, "places"),
                                std::ssize(gradients), sort);
    tree = prefix_tree(exec, unique, tts, tree_workspace);
  }
};

}  // namespace shardmark::kernels::test
