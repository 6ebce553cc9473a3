// SPDX-License-Identifier: Apache-2.0
#include "workloads/measure/export.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "comm/agree.hpp"
#include "comm/collectives.hpp"
#include "datasets/hdf5.hpp"
#include "reference/output_file.hpp"
#include "reference/sort_distinct.hpp"
#include "reference/storage.hpp"
#include "reference/tensor_train/shape.hpp"
#include "workloads/cases/option_table.hpp"
#include "workloads/measure/dense/export_dense.hpp"
#include "workloads/measure/prepare.hpp"

namespace shardmark::workloads {
namespace {

/// Describes what is exported as a table: a dense table, or a core of a tensor train, whose rows are slices.
struct ExportedTable {
  Table table;
  std::string group;                  ///< where it stands in the file
  std::int64_t number, part;          ///< of the table of the workload, and of this part of it
  std::vector<std::int64_t> touched;  ///< rows that the batch names, ascending
};

class StepExport {
 public:
  StepExport(const comm::Communicator& comm, const RunOptions& options, const Batch& batch, const ShardedTables& tables,
             const std::string& path)
      : comm_(comm), options_(options), workload_(options.workload), batch_(batch), tables_(tables), output_(path) {
    for (std::int64_t t = 0; t < std::ssize(workload_.tables); ++t) add_parts(t);
    on_root([&] {
      file_.emplace(datasets::hdf5::File::create(output_));
      for (const char* group : {"/features", "/outputs", "/gradients", "/tables"}) file_->create_group(group);
    });
  }

  void write_case(const std::string& description) {
    on_root([&] {
      file_->write_attribute("/", "format_version", std::int64_t{1});
      file_->write_attribute("/", "workload", workload_.name);
      file_->write_attribute("/", "case", description);
      file_->write_attribute("/", "seed", static_cast<std::int64_t>(options_.seed));
      file_->write_attribute("/", "ranks", std::int64_t{comm_.size()});
    });
  }

  void write_tables_before() {
    for (const Table& table : workload_.tables)
      if (maker_of(table).describe_parts) on_root([&] { create_computed(table); });
    for (const ExportedTable& part : parts_) {
      const Table& table = part.table;
      const std::string& group = part.group;
      on_root([&] {
        file_->create_group(group);
        file_->write_attribute(group, "rows", table.any_key ? std::int64_t{-1} : table.rows);
        file_->write_attribute(group, "dim", table.dim);
        file_->write_attribute(group, "optimizer", to_json(table.optimizer).dump());
        file_->write_attribute(group, "value_type", std::string(name_of(table.value_type)));
        file_->write_attribute(group, "stochastic_rounding", std::int64_t{table.stochastic_rounding});
        file_->write_array<std::int64_t>(group + "/rows", part.touched, {std::ssize(part.touched)});
      });
      write_rows(part, "before");
    }
  }

  void write_tables_after() {
    for (const ExportedTable& part : parts_) write_rows(part, "after");
  }

  void write_feature(std::int64_t f, const ConstDeviceArray<float>& output, const ConstDeviceArray<float>& gradient) {
    const Feature& feature = workload_.features[f];
    const Table& table = workload_.tables[feature.table];
    const std::string group = "/features/" + feature.name;
    const auto begin = static_cast<std::size_t>(batch_.begin_of(f));
    const auto count = static_cast<std::size_t>(batch_.end_of(f)) - begin;
    on_root([&] {
      file_->create_group(group);
      file_->write_attribute(group, "table", table.name);
      file_->write_attribute(group, "pooling", std::string(name_of(feature.pooling)));
      write_offsets(group + "/offsets", batch_.offsets, f * batch_.samples, batch_.samples);
      if (feature.segments > 0) write_segments(group, f, feature);
      file_->write_array(group + "/indices", std::span(batch_.indices).subspan(begin, count), {std::int64_t(count)});
      if (!batch_.weights.empty())
        file_->write_array(group + "/weights", std::span(batch_.weights).subspan(begin, count), {std::int64_t(count)});
    });
    write_vectors("/outputs/" + feature.name, output, table.dim);
    write_vectors("/gradients/" + feature.name, gradient, table.dim);
  }

  /// Writes what the dense model is, its inputs and its weights; nothing without one.
  void write_dense_before(const datasets::Samples& samples, const DenseModel& model) {
    if (options_.dense.kind == DenseKind::none) return;
    on_root([&] {
      write_dense_inputs(*file_, options_, samples);
      write_dense_parameters(*file_, options_, model, "before");
    });
  }

  void write_dense_after(const DenseModel& model) {
    if (options_.dense.kind == DenseKind::none) return;
    const double loss = comm::all_reduce(comm_, model.loss_share(), comm::Reduce::sum);
    const auto logits = comm::gather(comm_, model.logits(), 0);
    on_root([&] {
      write_dense_outcome(*file_, loss, logits.values);
      write_dense_parameters(*file_, options_, model, "after");
    });
  }

  void close() {
    on_root([&] {
      file_->close();
      output_.commit();
    });
  }

 private:
  /// Runs `work` on rank 0; what fails there fails on all.
  template <class Work>
  void on_root(Work&& work) {
    comm::agree(comm_, [&] {
      if (comm_.rank() == 0) work();
    });
  }

  /// Writes offsets [first, first + count], from 0.
  void write_offsets(const std::string& object, const std::vector<std::int64_t>& of_all, std::int64_t first,
                     std::int64_t count) {
    std::vector<std::int64_t> offsets(of_all.begin() + first, of_all.begin() + first + count + 1);
    for (std::int64_t& offset : offsets) offset -= of_all[first];
    file_->write_array<std::int64_t>(object, offsets, {std::ssize(offsets)});
  }

  /// Writes the segments of the samples and the ids of the segments.
  void write_segments(const std::string& group, std::int64_t f, const Feature& feature) {
    const std::int64_t bag = f * batch_.samples, first = batch_.first_segment[bag],
                       count = batch_.first_segment[bag + batch_.samples] - first;
    file_->write_attribute(group, "segment_rank", feature.segment_rank);
    write_offsets(group + "/first_segment", batch_.first_segment, bag, batch_.samples);
    write_offsets(group + "/segment_offsets", batch_.segment_offsets, first, count);
  }

  void add_parts(std::int64_t number) {
    const Table& table = workload_.tables[number];
    std::vector<std::int64_t> rows;
    for (std::int64_t f = 0; f < batch_.features; ++f)
      if (workload_.features[f].table == number)
        rows.insert(rows.end(), batch_.indices.begin() + batch_.begin_of(f), batch_.indices.begin() + batch_.end_of(f));
    const auto describe = maker_of(table).describe_parts;
    const std::string group = "/tables/" + table.name,
                      parts = describe ? group + "/" + describe(table).group + "/" : "";
    const std::vector<Table> stored = storage_of(table).parts(table);
    const auto stored_rows = storage_of(table).rows_of_parts(table, rows);
    for (std::size_t p = 0; p < stored.size(); ++p)
      parts_.push_back({stored[p], describe ? parts + std::to_string(p) : group, number, static_cast<std::int64_t>(p),
                        distinct(stored_rows[p])});
  }

  void create_computed(const Table& table) {
    const PartsDescription parts = maker_of(table).describe_parts(table);
    const std::string group = "/tables/" + table.name;
    file_->create_group(group);
    file_->create_group(group + "/" + parts.group);
    file_->write_attribute(group, "rows", table.rows);
    file_->write_attribute(group, "dim", table.dim);
    for (const auto& [name, value] : parts.attributes.items()) file_->write_attribute(group, name, value.dump());
  }

  static std::vector<std::int64_t> distinct(std::vector<std::int64_t> rows) {
    sort_distinct(rows);
    return rows;
  }

  /// Gathers rows from all shards: every rank fills in what it holds and leaves the rest 0, and the sum over ranks is
  /// the whole. Of replicated tables, and of state that every column shard keeps, one holder counts.
  ChosenRows gather_rows(const ExportedTable& part) const {
    const auto& [table, group, number, part_number, touched] = part;
    const auto dim = static_cast<std::size_t>(table.dim);
    const auto state_size = static_cast<std::size_t>(state_per_row(table.optimizer.kind, table.dim));
    ChosenRows whole{std::vector<float>(touched.size() * dim), std::vector<float>(touched.size() * state_size)};
    const auto& shards = tables_.layout().shards;
    for (std::int64_t s = 0; s < std::ssize(shards); ++s) {
      if (shards[s].table != number || (shards[s].replicated && comm_.rank() != 0)) continue;
      const Store& store = tables_.store_of(s);
      const ShardPart held = store.parts(s)[part_number];
      std::vector<std::size_t> at;
      std::vector<std::int64_t> local_rows;
      for (std::size_t i = 0; i < touched.size(); ++i) {
        if (!held.rows.contains(touched[i])) continue;
        at.push_back(i);
        local_rows.push_back(held.rows.local(touched[i]));
      }
      const auto width = static_cast<std::size_t>(held.dim());
      const auto first = static_cast<std::size_t>(held.column_begin);
      const auto [values, state] = store.read_rows(s, part_number, local_rows);
      place(values, {0, first, width}, at, touched.size(), whole.values);
      const auto vectors = static_cast<std::size_t>(choice_of(table.optimizer.kind).vectors);
      for (std::size_t v = 0; v < vectors; ++v)
        place(state, {v * width, v * dim + first, width}, at, touched.size(), whole.state);
      if (first == 0)
        place(state, {vectors * width, vectors * dim, state_size - vectors * dim}, at, touched.size(), whole.state);
    }
    comm::all_reduce(comm_, std::span(whole.values), comm::Reduce::sum);
    comm::all_reduce(comm_, std::span(whole.state), comm::Reduce::sum);
    return whole;
  }

  /// Maps columns [from, from + width) of a part to columns [to, to + width) of the whole.
  struct Columns {
    std::size_t from, to, width;
  };

  /// Puts row i of a part [at.size(), any width] into row at[i] of `whole` [touched rows, any width].
  static void place(const std::vector<float>& part, Columns columns, const std::vector<std::size_t>& at,
                    std::size_t touched, std::vector<float>& whole) {
    if (at.empty()) return;
    const std::size_t part_width = part.size() / at.size(), whole_width = whole.size() / touched;
    for (std::size_t i = 0; i < at.size(); ++i)
      std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(i * part_width + columns.from), columns.width,
                  whole.begin() + static_cast<std::ptrdiff_t>(at[i] * whole_width + columns.to));
  }

  void write_rows(const ExportedTable& part, const std::string& when) {
    const ChosenRows rows = gather_rows(part);
    const std::int64_t touched = std::ssize(part.touched);
    on_root([&] {
      file_->write_array<float>(part.group + "/" + when, rows.values, {touched, part.table.dim});
      if (const std::int64_t width = state_per_row(part.table.optimizer.kind, part.table.dim); width > 0)
        file_->write_array<float>(part.group + "/state_" + when, rows.state, {touched, width});
    });
  }

  /// Writes the vectors of all ranks' samples, in their order.
  void write_vectors(const std::string& object, const ConstDeviceArray<float>& own, std::int64_t dim) {
    const auto host = Kokkos::create_mirror_view_and_copy(Kokkos::HostSpace(), own);
    const auto all = comm::gather(comm_, std::span<const float>(host.data(), host.extent(0)), 0);
    on_root([&] { file_->write_array<float>(object, all.values, {std::ssize(all.values) / dim, dim}); });
  }

  const comm::Communicator& comm_;
  const RunOptions& options_;
  const Workload& workload_;
  const Batch& batch_;
  const ShardedTables& tables_;
  OutputFile output_;
  std::optional<datasets::hdf5::File> file_;
  std::vector<ExportedTable> parts_;
};

}  // namespace

std::string why_not_exported(const std::vector<Table>& tables) {
  for (const Table& table : tables)
    if (storage_of(table).comes_and_goes && !table.dynamic.keeps_all())
      return fmt::format(
          "--export: a step is recomputed from its rows, which table {} may not keep with admit {} and "
          "evict {}; leave these out",
          table.name, text_of(table.dynamic.admission), text_of(table.dynamic.eviction));
  return {};
}

void export_step(const comm::Communicator& comm, const RunOptions& options, const placement::Plan& plan,
                 const Case& config, BatchSource& batches, const std::string& file) {
  if (const std::string why = why_not_exported(options.workload.tables); !why.empty()) throw InputError(why);
  const datasets::Samples samples =
      comm::agree(comm, [&] { return batches.read(0, 0, options.workload.global_batch); });
  FirstStep first(comm, options, plan, config, batches);
  StepExport out(comm, options, samples.batch, *first.tables, file);
  nlohmann::ordered_json description{{"plan", plan.name}};
  description.update(case_options(options, config, plan));
  out.write_case(description.dump());
  out.write_tables_before();
  out.write_dense_before(samples, *first.dense);
  RecordedModel recorded(*first.dense);
  training_step(first.ready.flight, first.input, recorded);
  for (std::int64_t f = 0; f < samples.batch.features; ++f) {
    const std::pair gradient(first.input.first_element[f], first.input.first_element[f + 1]);
    out.write_feature(f, first.ready.flight.output(first.input, f), Kokkos::subview(recorded.gradients(), gradient));
  }
  out.write_tables_after();
  out.write_dense_after(*first.dense);
  out.close();
}

}  // namespace shardmark::workloads
