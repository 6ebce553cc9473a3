// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "reference/error.hpp"

namespace shardmark::reference {
namespace {

using Numbers = std::vector<std::int64_t>;

constexpr std::int64_t usual_rank = 32;
constexpr std::int64_t huge = std::numeric_limits<std::int64_t>::max();

template <class... Parts>
[[noreturn]] void refuse(const Table& table, const Parts&... parts) {
  std::ostringstream text;
  ((text << "table " << table.name << ": ") << ... << parts);
  throw InputError(text.str());
}

std::string text_of(const Numbers& numbers) {
  std::string text;
  for (const std::int64_t number : numbers) text += (text.empty() ? "" : ",") + std::to_string(number);
  return text;
}

/// Returns the product, which saturates at `huge`.
std::int64_t product(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  return __builtin_mul_overflow(a, b, &result) ? huge : result;
}

std::int64_t product(const Numbers& factors) {
  std::int64_t result = 1;
  for (const std::int64_t factor : factors) result = product(result, factor);
  return result;
}

void require_factors(const Table& table, std::string_view what, const Numbers& factors) {
  if (std::ssize(factors) != table.tensor_train.cores)
    refuse(table, what, " ", text_of(factors), " has ", factors.size(), " numbers for ", table.tensor_train.cores,
           " cores; give one per core");
  for (const std::int64_t factor : factors)
    if (factor < 1) refuse(table, what, " ", text_of(factors), " holds ", factor, "; its numbers are at least 1");
}

Numbers row_shape(const Table& table) {
  const TensorTrain& requested = table.tensor_train;
  if (requested.row_shape.empty()) return rounded_up_shape(table.rows, static_cast<int>(requested.cores));
  require_factors(table, "row shape", requested.row_shape);
  const std::int64_t rows = product(requested.row_shape);
  if (rows < table.rows)
    refuse(table, "row shape ", text_of(requested.row_shape), " makes ", rows, " rows, fewer than the ", table.rows,
           " of the table; make it larger, or leave it out");
  if (rows == huge)
    refuse(table, "row shape ", text_of(requested.row_shape), " makes more rows than 64 bits can number");
  return requested.row_shape;
}

Numbers dim_shape(const Table& table) {
  const TensorTrain& requested = table.tensor_train;
  if (requested.dim_shape.empty()) return exact_shape(table.dim, static_cast<int>(requested.cores));
  require_factors(table, "dim shape", requested.dim_shape);
  if (product(requested.dim_shape) != table.dim)
    refuse(table, "dim shape ", text_of(requested.dim_shape), " makes ", product(requested.dim_shape),
           " columns, not the ", table.dim, " of the table; columns are never padded");
  return requested.dim_shape;
}

/// Returns the most that rank t (1 .. cores - 1) can be: the rank of a matrix is no larger than either of its sides,
/// here of the table unfolded into the digits before core t and the others.
std::int64_t largest_rank(const TensorTrainShape& shape, int t) {
  std::int64_t before = 1, behind = 1;
  for (int s = 0; s < shape.cores; ++s) {
    std::int64_t& side = s < t ? before : behind;
    side = product(side, product(shape.p[s], shape.q[s]));
  }
  return std::min(before, behind);
}

void set_ranks(TensorTrainShape& shape, std::int64_t rank) {
  for (int t = 1; t < shape.cores; ++t) shape.r[t] = std::min(rank, largest_rank(shape, t));
}

double compression(const Table& table, const TensorTrainShape& shape) {
  double parameters = 0.0;
  for (int t = 0; t < shape.cores; ++t)
    parameters += static_cast<double>(shape.p[t]) * static_cast<double>(shape.q[t]) * static_cast<double>(shape.r[t]) *
                  static_cast<double>(shape.r[t + 1]);
  return static_cast<double>(table.rows) * static_cast<double>(table.dim) / parameters;
}

void choose_ranks(const Table& table, TensorTrainShape& shape) {
  const double wanted = table.tensor_train.compression;
  const auto reaches = [&](std::int64_t rank) {
    set_ranks(shape, rank);
    return compression(table, shape) >= wanted;
  };
  if (!reaches(1))
    refuse(table, "compression ", wanted, " cannot be reached: ranks of 1 give ", compression(table, shape),
           "; ask for less, or for more cores");
  std::int64_t fits = 1, most = 1;
  for (int t = 1; t < shape.cores; ++t) most = std::max(most, largest_rank(shape, t));
  while (fits < most) {
    const std::int64_t middle = fits + (most - fits + 1) / 2;
    if (reaches(middle))
      fits = middle;
    else
      most = middle - 1;
  }
  set_ranks(shape, fits);
}

void give_ranks(const Table& table, TensorTrainShape& shape) {
  const Numbers& ranks = table.tensor_train.ranks;
  if (ranks.size() != 1 && std::ssize(ranks) != shape.cores - 1)
    refuse(table, "ranks ", text_of(ranks), " are ", ranks.size(), " numbers for ", shape.cores,
           " cores; give one for all, or ", shape.cores - 1);
  for (int t = 1; t < shape.cores; ++t) {
    shape.r[t] = ranks.size() == 1 ? ranks.front() : ranks[t - 1];
    if (shape.r[t] < 1) refuse(table, "ranks ", text_of(ranks), " hold ", shape.r[t], "; ranks are at least 1");
    if (const std::int64_t most = largest_rank(shape, t); shape.r[t] > most)
      refuse(table, "rank ", shape.r[t], " between cores ", t - 1, " and ", t, " is above the ", most,
             " that the table unfolded there can have");
  }
}

void require_sense(const Table& table) {
  const TensorTrain& requested = table.tensor_train;
  const auto at_least = [&](std::int64_t least, std::string_view what, std::int64_t value) {
    if (value < least) refuse(table, what, " ", value, " must be at least ", least);
  };
  if (requested.cores < 2 || requested.cores > TensorTrainShape::most_cores)
    refuse(table, requested.cores, " cores; a tensor train has 2 to ", TensorTrainShape::most_cores);
  at_least(1, "rows", table.rows);
  at_least(1, "dim", table.dim);
  // Comparisons that NaN fails too.
  if (!(requested.compression >= 0.0)) refuse(table, "compression ", requested.compression, " must be above 0");
  if (!(requested.variance >= 0.0)) refuse(table, "variance ", requested.variance, " must be above 0");
  if (!requested.ranks.empty() && requested.compression > 0.0)
    refuse(table, "ranks ", text_of(requested.ranks), " and compression ", requested.compression,
           " are both given; leave one of them out (ranks auto)");
  if (requested.initializer == CoreInitializer::approx_uniform && requested.cores != 3)
    refuse(table, "initializer approx_uniform is for 3 cores, not ", requested.cores, "; use scaled");
  at_least(1, "workspace MiB", requested.workspace_mib);
  at_least(0, "cache rows", requested.cache.rows);
  at_least(0, "count slots", requested.cache.count_slots);
  at_least(1, "steps between populates", requested.cache.populate_every);
  if (requested.cache.rows > table.rows)
    refuse(table, "a cache of ", requested.cache.rows, " rows is larger than the table of ", table.rows);
}

}  // namespace

TensorTrainShape tensor_train_shape(const Table& table) {
  require_sense(table);
  TensorTrainShape shape{.cores = static_cast<int>(table.tensor_train.cores)};
  std::ranges::copy(row_shape(table), shape.p.begin());
  std::ranges::copy(dim_shape(table), shape.q.begin());
  shape.r[0] = shape.r[shape.cores] = 1;
  if (!table.tensor_train.ranks.empty())
    give_ranks(table, shape);
  else if (table.tensor_train.compression > 0.0)
    choose_ranks(table, shape);
  else
    set_ranks(shape, usual_rank);
  for (int t = 0; t < shape.cores; ++t)
    if (product(shape.p[t], product(shape.q[t], product(shape.r[t], shape.r[t + 1]))) > huge / 64)
      refuse(table, "core ", t, " of ", shape.p[t], " slices of ", shape.r[t], " x ", shape.q[t], " x ", shape.r[t + 1],
             " is too large; give smaller ranks");
  if (table.tensor_train.initializer == CoreInitializer::approx_uniform && shape.r[2] < 2)
    refuse(table, "initializer approx_uniform needs a last rank of at least 2, not ", shape.r[2], "; use scaled");
  return shape;
}

namespace {

using Numbers = std::vector<std::int64_t>;

Numbers prime_factors(std::int64_t n) {
  Numbers primes;
  for (std::int64_t prime = 2; prime <= n / prime; ++prime)
    for (; n % prime == 0; n /= prime) primes.push_back(prime);
  if (n > 1) primes.push_back(n);
  return primes;
}

Numbers divisors_above_one(const Numbers& primes) {
  std::set<std::int64_t> divisors{1};
  for (const std::int64_t prime : primes) {
    const Numbers known(divisors.begin(), divisors.end());
    for (const std::int64_t divisor : known) divisors.insert(divisor * prime);
  }
  return {std::next(divisors.begin()), divisors.end()};
}

/// Returns the entropy of the numbers x and `others` more, which are all y.
double entropy(const Numbers& x, double others = 0.0, double y = 1.0) {
  double sum = others * y, logs = others * y * std::log(y);
  for (const std::int64_t each : x) {
    sum += static_cast<double>(each);
    logs += static_cast<double>(each) * std::log(static_cast<double>(each));
  }
  return std::log(sum) - logs / sum;
}

/// Branch and bound over ascending factors, the first of them from the largest down. With the smallest factors fixed,
/// the entropy is largest where the others are equal, because the normalised factors of any other choice majorize
/// these; and it falls when the last one fixed does. So the first factor whose bound is below the best ends its loop.
class MostEven {
 public:
  MostEven(const Numbers& primes, int factors) : divisors_(divisors_above_one(primes)) {
    std::int64_t n = 1;
    for (const std::int64_t prime : primes) n *= prime;
    choose(n, factors, 2);
  }
  const Numbers& factors() const { return best_; }

 private:
  void choose(std::int64_t rest, int factors, std::int64_t least) {
    if (factors == 1) return take(rest);
    const double others = factors - 1;
    const auto above =
        std::ranges::upper_bound(divisors_, std::pow(static_cast<double>(rest), 1.0 / factors) * (1.0 + 1e-9), {},
                                 [](std::int64_t divisor) { return static_cast<double>(divisor); });
    for (auto at = above; at != divisors_.begin() && *(at - 1) >= least; --at) {
      const std::int64_t factor = *(at - 1);
      if (rest % factor != 0) continue;
      chosen_.push_back(factor);
      const double mean = std::pow(static_cast<double>(rest / factor), 1.0 / others);
      const bool hopeless = entropy(chosen_, others, mean) < most_ - 1e-12;
      if (!hopeless) choose(rest / factor, factors - 1, factor);
      chosen_.pop_back();
      if (hopeless) return;
    }
  }
  void take(std::int64_t last) {
    if (last < (chosen_.empty() ? 2 : chosen_.back())) return;
    chosen_.push_back(last);
    if (const double even = entropy(chosen_); even > most_) {
      most_ = even;
      best_ = chosen_;
    }
    chosen_.pop_back();
  }

  Numbers divisors_, chosen_, best_;
  double most_ = -1.0;
};

Numbers ascending_shape(std::int64_t n, int factors) {
  Numbers primes = prime_factors(n);
  if (std::ssize(primes) > factors) return MostEven(primes, factors).factors();
  primes.insert(primes.begin(), factors - primes.size(), 1);
  return primes;
}

Numbers interleaved(const Numbers& ascending) {
  Numbers shape;
  const std::size_t half = ascending.size() / 2;
  for (std::size_t i = 0; half + i < ascending.size(); ++i) {
    if (i < half) shape.push_back(ascending[i]);
    shape.push_back(ascending[half + i]);
  }
  return shape;
}

}  // namespace

std::vector<std::int64_t> exact_shape(std::int64_t n, int factors) { return interleaved(ascending_shape(n, factors)); }

std::vector<std::int64_t> rounded_up_shape(std::int64_t n, int factors) {
  Numbers best;
  double most = -1.0;
  for (std::int64_t unit = 1; unit <= n; unit *= 10) {
    if (n > std::numeric_limits<std::int64_t>::max() - unit) break;
    const Numbers shape = ascending_shape((n + unit - 1) / unit * unit, factors);
    if (const double even = entropy(shape); even > most) {
      most = even;
      best = shape;
    }
    if (unit > std::numeric_limits<std::int64_t>::max() / 10) break;
  }
  return interleaved(best);
}

}  // namespace shardmark::reference
