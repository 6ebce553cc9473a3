// SPDX-License-Identifier: Apache-2.0
#include "workloads/net/sample_files.hpp"

#include <filesystem>

#include "datasets/criteo_convert.hpp"
#include "datasets/criteo_generate.hpp"

namespace shardmark::workloads {

std::vector<std::string> sample_files(const std::string& folder) {
  constexpr datasets::CriteoRecipe recipe{.samples = 700, .seed = 3};
  const auto silent = [](std::int64_t) {};
  std::filesystem::create_directories(folder);
  const std::string text = folder + "/samples.tsv", packed = text + ".gz", converted = folder + "/samples.h5";
  for (const std::string& file : {text, packed})
    if (!std::filesystem::exists(file)) datasets::generate_criteo(file, recipe, silent);
  std::vector<std::int64_t> rows;
  for (std::int64_t column = 0; column < 26; ++column) rows.push_back(rows_of_sample_file(column));
  if (!std::filesystem::exists(converted))
    datasets::convert_criteo(text, converted, datasets::IdMapping::modulo(rows), {}, silent);
  return {text, packed, converted};
}

}  // namespace shardmark::workloads
