// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/shrink.hpp"

#include <algorithm>

#include "comm/placement/formats/plan_json.hpp"
#include "reference/error.hpp"
#include "workloads/cases/spec.hpp"

namespace shardmark::workloads {
namespace {

using Json = NetCase::Json;

/// Collects cases that differ from one.
class Smaller {
 public:
  explicit Smaller(const NetCase& one) : one_(one), workload_(workload_of(one)) {
    if (!one.plan.is_string()) plan_ = placement::plan_from_json(one.plan.dump(), "plan", workload_.tables);
  }

  std::vector<NetCase> all() {
    drop_options();
    drop_tables();
    drop_features();
    lessen_ranks();
    simplify_plan();
    lessen_numbers();
    simplify_workload();
    return std::move(all_);
  }

 private:
  template <class Change>
  void change(const Change& body) {
    NetCase other = one_;
    body(other);
    all_.push_back(std::move(other));
  }

  /// Makes a case with another workload, and the plan of the tables that are left of it.
  void change_workload(const Workload& workload, const std::optional<placement::Plan>& plan) {
    change([&](NetCase& c) {
      c.workload = to_json(workload);
      if (plan) c.plan = Json::parse(placement::plan_to_json(*plan, workload.tables));
    });
  }
  template <class Change>
  void change_workload(const Change& body) {
    Workload workload = workload_;
    body(workload);
    change_workload(workload, plan_ ? std::optional(clipped(workload)) : std::nullopt);
  }

  /// Returns the plan of tables that may have fewer rows and columns than before.
  placement::Plan clipped(const Workload& workload) const {
    placement::Plan plan = *plan_;
    for (std::size_t t = 0; t < plan.tables.size(); ++t) {
      const Table& table = workload.tables[t];
      placement::TablePlacement& placement = plan.tables[t];
      placement.hot_rows = std::min(placement.hot_rows, table.rows - 1);
      for (placement::Shard& shard : placement.shards) {
        shard.rows.end = std::min(shard.rows.end, table.rows);
        shard.column_end = std::min(shard.column_end, table.dim);
      }
      std::erase_if(placement.shards,
                    [](const placement::Shard& s) { return s.rows.count() <= 0 || s.columns() <= 0; });
    }
    return plan;
  }

  void drop_options() {
    if (one_.options.size() > 1) change([](NetCase& c) { c.options = Json::object(); });
    for (const auto& [name, value] : one_.options.items())
      change([&name = name](NetCase& c) { c.options.erase(name); });
  }

  void without_tables(const std::vector<bool>& dropped) {
    Workload workload = workload_;
    std::optional<placement::Plan> plan = plan_;
    std::vector<std::int64_t> number(workload.tables.size());
    workload.tables.clear();
    if (plan) plan->tables.clear();
    for (std::size_t t = 0; t < dropped.size(); ++t) {
      if (dropped[t]) continue;
      number[t] = std::ssize(workload.tables);
      workload.tables.push_back(workload_.tables[t]);
      if (plan) plan->tables.push_back(plan_->tables[t]);
    }
    std::erase_if(workload.features, [&](const Feature& f) { return dropped[f.table]; });
    for (Feature& feature : workload.features) feature.table = number[feature.table];
    if (!workload.tables.empty() && !workload.features.empty()) change_workload(workload, plan);
  }

  void drop_tables() {
    const std::size_t tables = workload_.tables.size();
    for (std::size_t count = tables / 2; count > 0; count /= 2)
      for (std::size_t first = 0; first < tables; first += count) {
        std::vector<bool> dropped(tables);
        std::fill_n(dropped.begin() + first, std::min(count, tables - first), true);
        without_tables(dropped);
      }
  }

  void drop_features() {
    const std::size_t features = workload_.features.size();
    for (std::size_t f = 0; features > 1 && f < features; ++f)
      change_workload([&](Workload& w) { w.features.erase(w.features.begin() + f); });
  }

  void lessen_ranks() {
    if (!one_.leaders.empty()) change([](NetCase& c) { c.leaders.clear(); });
    for (const int ranks : {1, 2, one_.ranks - 1}) {
      if (ranks < 1 || ranks >= one_.ranks) continue;
      change([&](NetCase& c) {
        c.ranks = ranks;
        c.leaders.clear();
        if (!c.planner.empty()) {
          c.plan = c.planner;
        } else if (plan_) {
          placement::Plan plan = *plan_;
          plan.ranks = ranks;
          for (placement::TablePlacement& placement : plan.tables)
            for (placement::Shard& shard : placement.shards) shard.rank %= ranks;
          c.plan = Json::parse(placement::plan_to_json(plan, workload_.tables));
        }
      });
    }
    if (one_.threads > 1) change([](NetCase& c) { c.threads = 1; });
  }

  void simplify_plan() {
    for (const std::string planner : {"table_wise", "row_wise", "data_parallel"}) {
      if (one_.planner == planner) break;
      change([&](NetCase& c) {
        c.plan = planner;
        c.planner = planner;
      });
    }
    for (std::size_t t = 0; plan_ && t < plan_->tables.size(); ++t) {
      if (plan_->tables[t].shards.size() < 2 && plan_->tables[t].hot_rows == 0) continue;
      change([&](NetCase& c) {
        placement::Plan plan = *plan_;
        plan.tables[t] = {.data_parallel = false,
                          .shards = {placement::whole(workload_.tables[t], static_cast<int>(t) % one_.ranks)}};
        c.plan = Json::parse(placement::plan_to_json(plan, workload_.tables));
        c.planner.clear();
      });
    }
  }

  /// Tries 1, its half, one less.
  template <class Set>
  void lessen(std::int64_t number, const Set& set, std::int64_t least = 1) {
    for (const std::int64_t less : {least, number / 2, number - 1})
      if (less >= least && less < number) set(less);
  }

  void lessen_numbers() {
    lessen(one_.steps, [&](std::int64_t less) { change([&](NetCase& c) { c.steps = less; }); });
    lessen(workload_.global_batch,
           [&](std::int64_t less) { change_workload([&](Workload& w) { w.global_batch = less; }); });
    for (std::size_t f = 0; f < workload_.features.size(); ++f)
      lessen(workload_.features[f].hotness,
             [&](std::int64_t less) { change_workload([&](Workload& w) { w.features[f].hotness = less; }); });
    for (std::size_t t = 0; t < workload_.tables.size(); ++t) {
      lessen(workload_.tables[t].rows,
             [&](std::int64_t less) { change_workload([&](Workload& w) { w.tables[t].rows = less; }); });
      lessen(workload_.tables[t].dim,
             [&](std::int64_t less) { change_workload([&](Workload& w) { w.tables[t].dim = less; }); });
    }
  }

  void simplify_workload() {
    const auto simplify = [&](const auto& body) {
      Workload workload = workload_;
      body(workload);
      if (to_json(workload) != to_json(workload_)) change_workload(body);
    };
    simplify([](Workload& w) { w.dense.reset(); });
    simplify([](Workload& w) { w.ids = {}; });
    simplify([](Workload& w) { w.ids.ragged = false; });
    simplify([](Workload& w) { w.ids.weighted = false; });
    for (const bool all : {true, false}) {
      for (std::size_t t = 0; t < workload_.tables.size(); ++t) {
        const auto each = [&](const auto& body) {
          simplify([&](Workload& w) {
            for (std::size_t other = 0; other < w.tables.size(); ++other)
              if (all || other == t) body(w.tables[other]);
          });
        };
        each([](Table& table) { table = {.name = table.name, .rows = table.rows, .dim = table.dim}; });
        each([](Table& table) { table.optimizer = {}; });
        each([](Table& table) { table.value_type = ValueType::fp32; });
        each([](Table& table) { table.any_key = false, table.storage = Storage::dense; });
        if (all) break;
      }
    }
    for (std::size_t f = 0; f < workload_.features.size(); ++f) {
      simplify([&](Workload& w) { w.features[f].pooling = Pooling::sum; });
      simplify([&](Workload& w) { w.features[f].segment_rank = 0; });
      simplify([&](Workload& w) { w.features[f].segments = w.features[f].segment_rank = 0; });
      simplify([&](Workload& w) { w.features[f].segments = w.features[f].hotness = 1; });
    }
  }

  const NetCase& one_;
  Workload workload_;
  std::optional<placement::Plan> plan_;
  std::vector<NetCase> all_;
};

}  // namespace

std::vector<NetCase> smaller_cases(const NetCase& one) { return Smaller(one).all(); }

NetCase shrunk(NetCase one, const std::function<bool(const NetCase&)>& fails, int tries) {
  for (bool smaller = true; smaller;) {
    smaller = false;
    auto candidates = smaller_cases(one);
    for (std::size_t c = 0; c < candidates.size() && tries > 0; --tries) {
      if (!fails(candidates[c])) {
        ++c;
        continue;
      }
      one = std::move(candidates[c]);
      smaller = true;
      candidates = smaller_cases(one);  // what came before has been tried of a larger case
    }
  }
  return one;
}

}  // namespace shardmark::workloads
