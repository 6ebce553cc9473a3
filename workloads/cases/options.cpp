// SPDX-License-Identifier: Apache-2.0
#include "workloads/cases/options.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace shardmark {
namespace {

template <class T>
T number(const std::string& text, T least) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least))
    throw InputError(fmt::format("'{}' is not a number of at least {}", text, least));
  return value;
}

bool truth(const std::string& text) {
  if (text == "true") return true;
  if (text == "false") return false;
  throw InputError(fmt::format("'{}' is not true or false", text));
}

/// A setting of the optimizers of all tables, at least 0.
template <float Optimizer::*Member>
void set_optimizers(RunOptions& options, const std::string& value) {
  for (Table& table : options.workload.tables) table.optimizer.*Member = number(value, 0.0F);
}

}  // namespace

const std::vector<Setting>& settings() {
  static const std::vector<Setting> all{
      {"batches", "different global batches that the timed steps rotate through",
       [](RunOptions& o, const std::string& v) { o.batches = number<std::int64_t>(v, 1); }},
      {"beta", "beta of ftrl", set_optimizers<&Optimizer::beta>},
      {"beta1", "decay of the mean of g: adam, rowwise_adam, lamb", set_optimizers<&Optimizer::beta1>},
      {"beta2", "decay of the mean of g^2: adam, rowwise_adam, lamb", set_optimizers<&Optimizer::beta2>},
      {"decay", "decay of the mean of g^2: rmsprop", set_optimizers<&Optimizer::decay>},
      {"dim", "dim of every table",
       [](RunOptions& o, const std::string& v) {
         for (Table& table : o.workload.tables) table.dim = number<std::int64_t>(v, 1);
       }},
      {"epsilon", "epsilon of every optimizer", set_optimizers<&Optimizer::epsilon>},
      {"exact", "true: values whose fp32 sums are exact, so that sgd with sum pooling must be bit-equal",
       [](RunOptions& o, const std::string& v) { o.exact = truth(v); }},
      {"fault", "a defect to commit on purpose (shardmark list faults)",
       [](RunOptions& o, const std::string& v) { o.fault = named<Fault>(v); }},
      {"hotness", "ids per bag of every feature",
       [](RunOptions& o, const std::string& v) {
         for (Feature& feature : o.workload.features) feature.hotness = number<std::int64_t>(v, 0);
       }},
      {"ids.alpha", "exponent of the power law",
       [](RunOptions& o, const std::string& v) { o.workload.ids.alpha = number(v, 0.0); }},
      {"ids.distribution", "power_law or uniform",
       [](RunOptions& o, const std::string& v) { o.workload.ids.distribution = v; }},
      {"ids.ragged", "true: bags of 0 to 2 x hotness ids",
       [](RunOptions& o, const std::string& v) { o.workload.ids.ragged = truth(v); }},
      {"ids.shuffled", "true: hot ids scattered over the table",
       [](RunOptions& o, const std::string& v) { o.workload.ids.shuffled = truth(v); }},
      {"ids.weighted", "true: a weight per id",
       [](RunOptions& o, const std::string& v) { o.workload.ids.weighted = truth(v); }},
      {"initial_accumulator", "initial sum of g^2: adagrad, rowwise_adagrad, ftrl",
       set_optimizers<&Optimizer::initial_accumulator>},
      {"l1", "l1 regularization of ftrl", set_optimizers<&Optimizer::l1>},
      {"l2", "l2 regularization of ftrl", set_optimizers<&Optimizer::l2>},
      {"learning_rate", "learning rate of every table", set_optimizers<&Optimizer::learning_rate>},
      {"momentum", "momentum of momentum and nesterov", set_optimizers<&Optimizer::momentum>},
      {"replicate_rows", "tables of at most so many rows are small to the mixed planner",
       [](RunOptions& o, const std::string& v) { o.workload.replicate_rows = number<std::int64_t>(v, 0); }},
      {"seed", "seed of tables, ids and gradients",
       [](RunOptions& o, const std::string& v) { o.seed = number<std::uint64_t>(v, 0); }},
      {"stochastic_rounding", "true: new values of fp16 and bf16 tables are rounded at random, without bias",
       [](RunOptions& o, const std::string& v) {
         for (Table& table : o.workload.tables) table.stochastic_rounding = truth(v);
       }},
      {"weight_decay", "weight decay of every table", set_optimizers<&Optimizer::weight_decay>},
      {"weight_decay_mode", "l2 (added to the gradient) or decoupled",
       [](RunOptions& o, const std::string& v) {
         for (Table& table : o.workload.tables) table.optimizer.weight_decay_mode = named<WeightDecay>(v);
       }},
  };
  return all;
}

namespace {

/// The power of two next to the learning rate, so that lr * gradient keeps few bits.
void make_exact(Workload& workload) {
  for (Table& table : workload.tables) {
    float& rate = table.optimizer.learning_rate;
    if (rate > 0.0F) rate = std::exp2(std::round(std::log2(rate)));
  }
}

}  // namespace

void apply_settings(RunOptions& options, const std::vector<std::string>& assignments) {
  for (const std::string& text : assignments) {
    const auto equals = text.find('=');
    if (equals == std::string::npos) throw InputError(fmt::format("--set {}: expected key=value", text));
    const Setting& setting = choice_named(settings(), "key of --set", text.substr(0, equals));
    try {
      setting.apply(options, text.substr(equals + 1));
    } catch (const InputError& error) {
      throw InputError(fmt::format("--set {}: {}", text, error.what()));
    }
  }
  if (options.exact) make_exact(options.workload);
}

RowValues RunOptions::row_values() const {
  RowValues values{.seed = seed, .scale = 0.05F};
  if (!exact) return values;
  // One unit for all tables: the finest that any of them needs.
  values.unit = gradients().unit;
  for (const Table& table : workload.tables)
    if (table.optimizer.learning_rate > 0.0F)
      values.unit = std::min(values.unit, gradients().unit * table.optimizer.learning_rate);
  return values;
}

}  // namespace shardmark
