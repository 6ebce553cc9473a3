// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "datasets/checkpoint/merge.hpp"
#include "datasets/checkpoint/parts.hpp"
#include "reference/error.hpp"
#include "workloads/command/command.hpp"

namespace shardmark::workloads {
namespace {

using datasets::CheckpointReader;

constexpr const char* folder_help = "a checkpoint, or a folder of --save, of which the latest is taken";

std::string text_of(const datasets::SavedArray& array, const std::string& name) {
  for (const datasets::SavedField& field : array.fields)
    if (field.name == name) return fmt::format("{} x {}", field.elements, name_of(field.type));
  return "-";
}

void show(const std::string& folder) {
  const CheckpointReader reader(folder);
  const datasets::Manifest& manifest = reader.manifest();
  const auto& run = manifest.run;
  fmt::print("{}: step {} of {}, {} samples; saved by {} ranks under plan {}\n", reader.folder(), manifest.step,
             run.value("workload", ""), run.value("samples", std::int64_t{0}), run.value("ranks", 0),
             run.value("plan", ""));
  if (manifest.parent)
    fmt::print("rows that were touched since step {} (manifest xxh64 {})\n", manifest.parent->step,
               manifest.parent->xxh64);
  fmt::print("{} bytes of rows in {} parts; manifest xxh64 {}\n\n", manifest.bytes(), manifest.parts.size(),
             manifest.xxh64);
  std::size_t width = 5;
  for (const auto& array : manifest.arrays) width = std::max(width, array.path.size());
  fmt::print("{:<{}}  {:>12}  {:>12}  {:>12}  {:>14}\n", "array", width, "rows", "values", "state", "bytes");
  for (const auto& array : manifest.arrays)
    fmt::print("{:<{}}  {:>12}  {:>12}  {:>12}  {:>14}\n", array.path, width, array.rows, text_of(array, "values"),
               text_of(array, "state"), array.rows * array.row_bytes());
  if (run.contains("options")) fmt::print("\noptions: {}\n", run["options"].dump());
}

void verify(const std::string& folder) {
  for (const std::string& each : datasets::chain_of(folder)) {
    const CheckpointReader reader(each);
    const auto damages = reader.damages();
    for (const std::string& damage : damages) fmt::print("{}\n", damage);
    if (!damages.empty())
      throw InputError(fmt::format("{}: {} parts or blocks are not what was written; restore another checkpoint",
                                   reader.folder(), damages.size()));
    std::int64_t blocks = 0;
    for (const auto& array : reader.manifest().arrays) blocks += array.blocks();
    fmt::print("{}: all {} blocks of {} arrays are what was written\n", reader.folder(), blocks,
               reader.manifest().arrays.size());
  }
}

void diff(const std::string& one, const std::string& other) {
  const CheckpointReader a(one), b(other);
  const auto found = datasets::differences(a, b);
  if (a.manifest().step != b.manifest().step) fmt::print("step: {} and {}\n", a.manifest().step, b.manifest().step);
  for (const auto& each : found)
    fmt::print("{}: {} rows differ, the first of them {} {}\n", each.path, each.rows, each.number, each.first_row);
  if (!found.empty() || a.manifest().step != b.manifest().step) throw Failure{1};
  fmt::print("all {} arrays of step {} are the same, bit for bit\n", a.manifest().arrays.size(), a.manifest().step);
}

void add(CLI::App& app, const char* name, const char* description, void (*action)(const std::string&)) {
  const auto folder = std::make_shared<std::string>();
  CLI::App& command = *app.add_subcommand(name, description);
  command.add_option("FOLDER", *folder, folder_help)->required();
  command.callback([folder, action] { action(*folder); });
}

}  // namespace

void define_checkpoint(CLI::App& app) {
  app.require_subcommand(1);
  add(app, "show", "what a checkpoint holds, and of which run", show);
  add(app, "verify", "read everything and compare it with its checksums; exit 2 if anything is damaged", verify);
  const auto folders = std::make_shared<std::pair<std::string, std::string>>();
  CLI::App& command =
      *app.add_subcommand("diff", "which rows differ between two checkpoints, bit for bit; exit 1 if any");
  CLI::App& merging = *app.add_subcommand(
      "merge", "write a checkpoint of changes and those that it builds on as one with all rows, of the same step");
  merging.add_option("FOLDER", folders->first, folder_help)->required();
  merging.add_option("OUT", folders->second, "folder that gets the checkpoint, in one of its own")->required();
  merging.callback([folders] {
    const std::string folder = datasets::merge_checkpoints(folders->first, folders->second);
    fmt::print("{}: {} bytes of rows\n", folder, datasets::read_manifest(folder).bytes());
  });
  command.add_option("ONE", folders->first, folder_help)->required();
  command.add_option("OTHER", folders->second, folder_help)->required();
  command.callback([folders] { diff(folders->first, folders->second); });
}

}  // namespace shardmark::workloads
