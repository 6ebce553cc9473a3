// SPDX-License-Identifier: Apache-2.0
#include "datasets/cores_file.hpp"

#include <fmt/format.h>

#include "datasets/hdf5.hpp"
#include "reference/error.hpp"

namespace shardmark::datasets {
namespace {

constexpr const char* format = "shardmark-cores/1";

std::string name_of_core(int t) { return fmt::format("/core{}", t); }

}  // namespace

void write_cores(const std::string& path, const Table& table, const DecomposedTable& tt) {
  OutputFile output(path);
  hdf5::File file = hdf5::File::create(output);
  file.write_attribute("/", "format", format);
  file.write_attribute("/", "rows", table.rows);
  file.write_attribute("/", "dim", table.dim);
  file.write_attribute("/", "cores", std::int64_t{tt.shape.cores});
  for (int t = 0; t < tt.shape.cores; ++t) {
    const auto& core = tt.cores[t];
    {
      auto data =
          hdf5::Dataset<float>::create(file, name_of_core(t), std::min(std::ssize(core), hdf5::chunk_bytes / 4));
      data.append(core);
    }
    file.write_attribute(name_of_core(t), "p", tt.shape.p[t]);
    file.write_attribute(name_of_core(t), "q", tt.shape.q[t]);
    file.write_attribute(name_of_core(t), "rank", tt.shape.r[t + 1]);
  }
  file.close();
  output.commit();
}

DecomposedTable read_cores(const std::string& path, const Table& table) {
  const hdf5::File file = hdf5::File::open(path);
  if (!file.has_attribute("/", "format") || file.read_string("/", "format") != format)
    throw InputError(fmt::format("{}: is no file of cores; `shardmark data tensor-train` writes them", path));
  const std::int64_t rows = file.read_integer("/", "rows"), dim = file.read_integer("/", "dim");
  if (rows != table.rows || dim != table.dim)
    throw InputError(fmt::format("{}: holds cores of {} rows of {} columns, but table {} has {} of {}", path, rows, dim,
                                 table.name, table.rows, table.dim));
  Table requested = table;
  requested.tensor_train = {.cores = file.read_integer("/", "cores")};
  for (int t = 0; t < requested.tensor_train.cores; ++t) {
    requested.tensor_train.row_shape.push_back(file.read_integer(name_of_core(t), "p"));
    requested.tensor_train.dim_shape.push_back(file.read_integer(name_of_core(t), "q"));
    if (t + 1 < requested.tensor_train.cores)
      requested.tensor_train.ranks.push_back(file.read_integer(name_of_core(t), "rank"));
  }
  DecomposedTable tt{.shape = tensor_train_shape(requested), .cores = {}};
  for (int t = 0; t < tt.shape.cores; ++t) {
    const auto data = hdf5::Dataset<float>::open(file, name_of_core(t));
    if (data.size() != tt.shape.p[t] * tt.shape.slice_elements(t))
      file.fail(name_of_core(t), fmt::format("holds {} entries, not the {} of its shape", data.size(),
                                             tt.shape.p[t] * tt.shape.slice_elements(t)));
    data.read(0, tt.cores.emplace_back(static_cast<std::size_t>(data.size())));
  }
  return tt;
}

}  // namespace shardmark::datasets
