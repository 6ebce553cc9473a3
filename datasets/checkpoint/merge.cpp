// SPDX-License-Identifier: Apache-2.0
#include "datasets/checkpoint/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <memory>

#include "datasets/checkpoint/parts.hpp"
#include "reference/error.hpp"
#include "reference/output_file.hpp"

namespace shardmark::datasets {
namespace {

using Readers = std::vector<std::unique_ptr<CheckpointReader>>;

/// Says where the row of a number is: in a checkpoint of the chain; row -1: it has left.
struct Source {
  std::int64_t number = 0, checkpoint = 0, row = -1;
};

std::int64_t array_in(const CheckpointReader& reader, const std::string& path) {
  return array_number(reader.manifest().arrays, path);
}

/// Adds the numbers of an array of a checkpoint; leaving: as those of rows that are no longer there.
void add_numbers(const Readers& chain, std::int64_t checkpoint, const std::string& path, bool leaving,
                 std::vector<Source>& sources) {
  ArrayBlocks blocks(*chain[checkpoint], array_in(*chain[checkpoint], path));
  if (!blocks.any() || !blocks.array().is_numbered()) return;
  for (std::int64_t row = 0; row < blocks.array().rows; ++row) {
    const std::int64_t at = blocks.seek(row);
    sources.push_back(
        {row_number(blocks.array().fields.front(), blocks.rows().front(), at), checkpoint, leaving ? -1 : row});
  }
}

/// Returns by number where its latest row is, ascending: of all keys, or of those of changes of other rows.
std::vector<Source> sources_of(const Readers& chain, const std::string& path) {
  std::vector<Source> sources;
  const std::string counted = "/counted",
                    table = path.ends_with(counted) ? path.substr(0, path.size() - counted.size()) : path;
  for (std::int64_t c = 0; c < std::ssize(chain); ++c) {
    add_numbers(chain, c, path, false, sources);
    if (path == table) add_numbers(chain, c, table + counted, true, sources);
    if (path != table) add_numbers(chain, c, table, true, sources);
    add_numbers(chain, c, table + "/evicted", true, sources);
  }
  std::ranges::stable_sort(sources, {}, &Source::number);
  std::vector<Source> latest;
  for (std::size_t i = 0; i < sources.size(); ++i)
    if ((i + 1 == sources.size() || sources[i + 1].number != sources[i].number) && sources[i].row >= 0)
      latest.push_back(sources[i]);
  return latest;
}

/// Copies a row whose fields are the last ones of another.
void copy_row(const SavedArray& array, const SavedRows& from, std::int64_t row, SavedRows& to, std::int64_t at) {
  const std::size_t before = from.size() - to.size();
  for (std::size_t f = 0; f < to.size(); ++f) {
    const auto bytes = static_cast<std::size_t>(array.fields[f].bytes());
    std::memcpy(to[f].data() + static_cast<std::size_t>(at) * bytes,
                from[before + f].data() + static_cast<std::size_t>(row) * bytes, bytes);
  }
}

/// Writes an array of the merged checkpoint, a block at a time.
void write_array(const Readers& chain, const Manifest& merged, std::int64_t number, const std::vector<Source>& sources,
                 PartWriter& writer) {
  const SavedArray& array = merged.arrays[number];
  std::vector<ArrayBlocks> blocks;
  for (const auto& reader : chain) blocks.emplace_back(*reader, array_in(*reader, array.path));
  auto next = sources.begin();
  for (std::int64_t first = 0; first < array.rows; first += array.block_rows) {
    const std::int64_t count = std::min(array.block_rows, array.rows - first);
    SavedRows rows = room_for(array, count);
    if (!array.is_numbered()) rows = chain.front()->read({array_in(*chain.front(), array.path), first, count});
    const auto is_here = [&](const Source& source) {
      return array.is_numbered() ? next - sources.begin() < first + count : source.number < first + count;
    };
    for (; next != sources.end() && is_here(*next); ++next) {
      ArrayBlocks& from = blocks[next->checkpoint];
      const std::int64_t row = from.seek(next->row);
      copy_row(array, from.rows(), row, rows,
               array.is_numbered() ? next - sources.begin() - first : next->number - first);
    }
    writer.write({number, first, count}, rows);
  }
}

}  // namespace

std::string merge_checkpoints(const std::string& from, const std::string& to) {
  Readers chain;
  for (const std::string& folder : chain_of(from)) chain.push_back(std::make_unique<CheckpointReader>(folder));
  const Manifest& latest = chain.back()->manifest();
  const std::string folder = step_folder(to, latest.step);
  if (std::filesystem::exists(folder))
    throw InputError(fmt::format("{}: is there already; name another folder to merge into", folder));

  Manifest merged{.step = latest.step, .parent = {}, .run = latest.run, .arrays = {}, .parts = {}, .xxh64 = ""};
  std::vector<std::vector<Source>> sources;
  for (const auto& reader : chain)
    for (const SavedArray& array : reader->manifest().arrays) {
      if (array.path.ends_with("/evicted") && array.fields.size() == 1) continue;
      if (array_number(merged.arrays, array.path) >= 0) continue;
      std::vector<Source> of_array = sources_of(chain, array.path);
      const std::int64_t rows = array.is_numbered() ? std::ssize(of_array) : array.rows;
      if (rows == 0) continue;
      merged.arrays.push_back(saved_array(array.path, rows, array.fields));
      sources.push_back(std::move(of_array));
    }
  SavedPart part{fmt::format("{}{:05}.h5", part_prefix, 0), 0, "", {}};
  for (std::int64_t a = 0; a < std::ssize(merged.arrays); ++a) part.ranges.push_back({a, 0, merged.arrays[a].rows});
  make_folder(to);
  make_folder(folder);
  try {
    PartWriter writer(folder, merged, part);
    for (std::int64_t a = 0; a < std::ssize(merged.arrays); ++a) write_array(chain, merged, a, sources[a], writer);
    merged.parts.push_back(writer.close());
    writer.commit();
    write_index(folder, merged);
    write_manifest(folder, merged);
  } catch (const InputError&) {
    remove_checkpoint(folder);
    throw;
  }
  return folder;
}

}  // namespace shardmark::datasets
