// SPDX-License-Identifier: Apache-2.0
#include "reference/tensor_train/suggested_shape.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

namespace shardmark::reference {
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

/// Of the numbers x and `others` more, which are all y.
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
