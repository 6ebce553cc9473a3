// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/calibrate/non_negative_least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace shardmark::workloads {
namespace {

using Vector = std::vector<double>;
using Matrix = std::vector<Vector>;
using Columns = std::vector<std::size_t>;

constexpr double tolerance = 1e-10;  // of columns of length 1

double dot(std::span<const double> a, std::span<const double> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

/// Returns A's columns scaled to length 1, as the rows of the result, and the lengths; 0 for columns of zeros.
std::pair<Matrix, Vector> unit_columns(const Matrix& rows, std::size_t count) {
  Matrix columns(count, Vector(rows.size()));
  Vector lengths(count);
  for (std::size_t c = 0; c < count; ++c) {
    for (std::size_t r = 0; r < rows.size(); ++r) columns[c][r] = rows[r][c];
    lengths[c] = std::sqrt(dot(columns[c], columns[c]));
    if (lengths[c] > 0.0)
      for (double& value : columns[c]) value /= lengths[c];
  }
  return {std::move(columns), std::move(lengths)};
}

/// Solves G y = g for the chosen columns, by Cholesky; empty where they depend on each other.
Vector solve(const Matrix& gram, std::span<const double> projected, const Columns& chosen) {
  const std::size_t n = chosen.size();
  Matrix lower(n, Vector(n));
  Vector y(n);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double left = gram[chosen[i]][chosen[j]] - dot(std::span(lower[i]).first(j), std::span(lower[j]).first(j));
      if (i == j && left < tolerance) return {};
      lower[i][j] = i == j ? std::sqrt(left) : left / lower[j][j];
    }
    y[i] = (projected[chosen[i]] - dot(std::span(lower[i]).first(i), std::span(y).first(i))) / lower[i][i];
  }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t k = i + 1; k < n; ++k) y[i] -= lower[k][i] * y[k];
    y[i] /= lower[i][i];
  }
  return y;
}

/// Computes the least squares of the chosen columns; those that would become negative meanwhile leave `chosen`.
void descend(const Matrix& gram, std::span<const double> projected, Columns& chosen, Vector& x) {
  while (!chosen.empty()) {
    const Vector wanted = solve(gram, projected, chosen);
    if (wanted.empty()) {  // the newest says nothing that the others do not
      x[chosen.back()] = 0.0;
      chosen.pop_back();
      continue;
    }
    double path = 1.0;
    for (std::size_t i = 0; i < chosen.size(); ++i)
      if (wanted[i] <= 0.0) path = std::min(path, x[chosen[i]] / (x[chosen[i]] - wanted[i]));
    for (std::size_t i = 0; i < chosen.size(); ++i) x[chosen[i]] += path * (wanted[i] - x[chosen[i]]);
    if (path == 1.0 && std::ranges::all_of(wanted, [](double value) { return value > 0.0; })) return;
    std::erase_if(chosen, [&](std::size_t c) {
      const bool leaves = x[c] <= tolerance;
      if (leaves) x[c] = 0.0;
      return leaves;
    });
  }
}

}  // namespace

std::vector<double> non_negative_least_squares(const Matrix& rows, std::span<const double> b) {
  const std::size_t count = rows.empty() ? 0 : rows.front().size();
  if (rows.size() != b.size() || std::ranges::any_of(rows, [&](const Vector& row) { return row.size() != count; }))
    throw std::invalid_argument("least squares: sizes differ");
  const auto [columns, lengths] = unit_columns(rows, count);
  const double size_of_b = std::sqrt(dot(b, b));
  Matrix gram(count, Vector(count));
  Vector projected(count), x(count);
  if (size_of_b == 0.0) return x;
  for (std::size_t i = 0; i < count; ++i) {
    projected[i] = dot(columns[i], b) / size_of_b;
    for (std::size_t j = 0; j < count; ++j) gram[i][j] = dot(columns[i], columns[j]);
  }
  Columns chosen;
  std::vector<bool> tried(count);  // since the residual last became smaller
  for (std::size_t turns = 0; turns < 10 * count + 10; ++turns) {
    double steepest = tolerance;
    std::size_t next = count;
    for (std::size_t c = 0; c < count; ++c) {
      const double slope = projected[c] - dot(gram[c], x);
      if (tried[c] || lengths[c] == 0.0 || slope <= steepest || std::ranges::count(chosen, c) > 0) continue;
      steepest = slope;
      next = c;
    }
    if (next == count) break;
    chosen.push_back(next);
    descend(gram, projected, chosen, x);
    const bool stayed = std::ranges::count(chosen, next) > 0;
    if (stayed) tried.assign(count, false);
    tried[next] = !stayed;
  }
  for (std::size_t c = 0; c < count; ++c) x[c] = lengths[c] > 0.0 ? x[c] * size_of_b / lengths[c] : 0.0;
  return x;
}

}  // namespace shardmark::workloads
