// SPDX-License-Identifier: Apache-2.0
#include "datasets/checkpoint/manifest.hpp"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <set>
#include <span>

#include "reference/error.hpp"
#include "reference/input_file.hpp"
#include "reference/json.hpp"

namespace shardmark::datasets {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr const char* checkpoint_format = "shardmark-checkpoint/1";
constexpr std::int64_t block_bytes = std::int64_t{1} << 20;
constexpr std::string_view folder_prefix = "step-";

Json to_json(const SavedArray& array) {
  Json fields = Json::array();
  for (const SavedField& field : array.fields)
    fields.push_back({{"name", field.name}, {"type", name_of(field.type)}, {"elements", field.elements}});
  return {{"path", array.path}, {"rows", array.rows}, {"block_rows", array.block_rows}, {"fields", fields}};
}

Json to_json(const SavedPart& part) {
  Json ranges = Json::array();
  for (const SavedRange& range : part.ranges)
    ranges.push_back({{"array", range.array}, {"first", range.first}, {"count", range.count}});
  return {{"file", part.file}, {"bytes", part.bytes}, {"xxh64", part.xxh64}, {"ranges", ranges}};
}

Json content_of(const Manifest& manifest) {
  Json json{{"format", checkpoint_format}, {"step", manifest.step}, {"run", manifest.run}, {"arrays", Json::array()}};
  if (manifest.parent) json["parent"] = {{"step", manifest.parent->step}, {"xxh64", manifest.parent->xxh64}};
  for (const SavedArray& array : manifest.arrays) json["arrays"].push_back(to_json(array));
  return json;
}

/// Returns all but the checksum.
Json to_json(const Manifest& manifest) {
  Json json = content_of(manifest);
  json["parts"] = Json::array();
  for (const SavedPart& part : manifest.parts) json["parts"].push_back(to_json(part));
  return json;
}

std::uint64_t checksum_of_text(const std::string& text) { return checksum_of(std::as_bytes(std::span(text))); }

SavedArray array_in(const Json& json) {
  SavedArray array{json.at("path"), json.at("rows"), {}, json.at("block_rows")};
  for (const Json& field : json.at("fields"))
    array.fields.push_back(
        {field.at("name"), named<hdf5::RowElement>(field.at("type").get<std::string>()), field.at("elements")});
  return array;
}

SavedPart part_in(const Json& json) {
  SavedPart part{json.at("file"), json.at("bytes"), json.at("xxh64"), {}};
  for (const Json& range : json.at("ranges"))
    part.ranges.push_back({range.at("array"), range.at("first"), range.at("count")});
  return part;
}

/// Returns the step of a folder's name; -1 where it is not one of ours.
std::int64_t step_in(const fs::path& folder) {
  const std::string name = folder.filename().string();
  if (!name.starts_with(folder_prefix)) return -1;
  const std::string_view digits = std::string_view(name).substr(folder_prefix.size());
  std::int64_t step = -1;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  const bool is_number = error == std::errc() && end == digits.data() + digits.size();
  return is_number && folder.filename() == fs::path(step_folder("", step)) ? step : -1;
}

/// Returns the folders of steps, by step.
std::vector<std::pair<std::int64_t, fs::path>> folders_of_steps(const std::string& folder) {
  std::vector<std::pair<std::int64_t, fs::path>> folders;
  std::error_code error;
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error))
    if (const std::int64_t step = step_in(each->path()); step >= 0) folders.emplace_back(step, each->path());
  std::ranges::sort(folders);
  return folders;
}

bool is_whole(const fs::path& folder) {
  std::error_code none;
  return fs::exists(folder / manifest_name, none);
}

}  // namespace

std::int64_t SavedArray::row_bytes() const {
  std::int64_t bytes = 0;
  for (const SavedField& field : fields) bytes += field.bytes();
  return bytes;
}

std::int64_t array_number(const std::vector<SavedArray>& arrays, const std::string& path) {
  const auto found = std::ranges::find(arrays, path, &SavedArray::path);
  return found == arrays.end() ? -1 : found - arrays.begin();
}

bool SavedArray::is_numbered() const {
  const std::string_view first = fields.empty() ? "" : std::string_view(fields.front().name);
  return first == "row" || first == "key" || first == "line";
}

SavedArray saved_array(std::string path, std::int64_t rows, std::vector<SavedField> fields) {
  SavedArray array{std::move(path), rows, std::move(fields), 1};
  array.block_rows = std::max<std::int64_t>(1, block_bytes / std::max<std::int64_t>(1, array.row_bytes()));
  return array;
}

std::int64_t bytes_of(const std::vector<SavedArray>& arrays) {
  std::int64_t bytes = 0;
  for (const SavedArray& array : arrays) bytes += array.rows * array.row_bytes();
  return bytes;
}

std::uint64_t checksum_of(std::span<const std::byte> bytes, std::uint64_t seed) {
  return XXH64(bytes.data(), bytes.size(), seed);
}

std::string checksum_text(std::uint64_t checksum) { return fmt::format("{:016x}", checksum); }

std::string identity_of(const Manifest& manifest) {
  return checksum_text(checksum_of_text(content_of(manifest).dump()));
}

std::string write_manifest(const std::string& folder, const Manifest& manifest, const FileSteps& before) {
  Json json = to_json(manifest);
  std::string xxh64 = checksum_text(checksum_of_text(json.dump()));
  json["xxh64"] = xxh64;
  write_file((fs::path(folder) / manifest_name).string(), json.dump(1) + "\n", before);
  return xxh64;
}

Manifest read_manifest(const std::string& folder) {
  const std::string path = (fs::path(folder) / manifest_name).string();
  const auto text = file_text(path);
  if (!text) throw InputError(fmt::format("{}: cannot be read; a checkpoint has its manifest there", path));
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: {}; restore another checkpoint", path, why));
  };
  Manifest manifest;
  try {
    Json json = reference::parse_json(*text);
    if (json.value("format", "") != checkpoint_format)
      refuse(fmt::format("is no manifest of a checkpoint ({})", checkpoint_format));
    manifest.xxh64 = json.value("xxh64", "");
    json.erase("xxh64");
    if (checksum_text(checksum_of_text(json.dump())) != manifest.xxh64)
      refuse("is damaged, as its content has another xxh64 than it says");
    manifest.step = json.at("step");
    manifest.run = json.at("run");
    if (json.contains("parent"))
      manifest.parent = SavedParent{json.at("parent").at("step"), json.at("parent").at("xxh64")};
    for (const Json& array : json.at("arrays")) manifest.arrays.push_back(array_in(array));
    for (const Json& part : json.at("parts")) manifest.parts.push_back(part_in(part));
  } catch (const reference::JsonError& error) {
    refuse(fmt::format("is damaged ({})", error.what()));
  } catch (const nlohmann::json::exception& error) {
    refuse(fmt::format("is no manifest of a checkpoint ({})", error.what()));
  }
  return manifest;
}

std::string step_folder(const std::string& folder, std::int64_t step) {
  return (fs::path(folder) / fmt::format("{}{:08}", folder_prefix, step)).string();
}

std::vector<std::int64_t> saved_steps(const std::string& folder) {
  std::vector<std::int64_t> steps;
  for (const auto& [step, path] : folders_of_steps(folder))
    if (is_whole(path)) steps.push_back(step);
  return steps;
}

std::string latest_checkpoint(const std::string& folder) {
  std::error_code none;
  if (!fs::is_directory(folder, none)) throw InputError(folder + ": is no folder; name one that --save wrote");
  if (is_whole(folder)) return folder;
  const auto folders = folders_of_steps(folder);
  for (auto each = folders.rbegin(); each != folders.rend(); ++each)
    if (is_whole(each->second)) return each->second.string();
  if (!folders.empty())
    throw InputError(fmt::format("{}: {} has no {}, as its save was cut off; there is no checkpoint before it", folder,
                                 folders.back().second.filename().string(), manifest_name));
  throw InputError(folder + ": holds no checkpoint; name a folder that --save wrote");
}

std::vector<std::string> chain_of(const std::string& folder) {
  std::vector<std::string> chain{latest_checkpoint(folder)};
  for (Manifest manifest = read_manifest(chain.back()); manifest.parent;) {
    const SavedParent& parent = *manifest.parent;
    const std::string child = chain.back();
    const fs::path beside = fs::absolute(child).lexically_normal();
    const fs::path above = beside.has_filename() ? beside.parent_path() : beside.parent_path().parent_path();
    const std::string wanted = step_folder(above.string(), parent.step);
    const auto refuse = [&](const std::string& why) {
      throw InputError(
          fmt::format("{}: holds what changed since step {}, and {} {}; bring it back, or restore another "
                      "checkpoint",
                      child, parent.step, wanted, why));
    };
    if (!is_whole(wanted)) refuse("is missing");
    if (parent.step >= manifest.step) refuse("does not come before it");
    Manifest before = read_manifest(wanted);
    if (before.xxh64 != parent.xxh64)
      refuse(fmt::format("is not what was there: its manifest has xxh64 {}, not {}", before.xxh64, parent.xxh64));
    chain.push_back(wanted);
    manifest = std::move(before);
  }
  std::ranges::reverse(chain);
  return chain;
}

void remove_checkpoint(const std::string& folder) {
  std::error_code error;
  fs::remove(fs::path(folder) / manifest_name, error);
  for (fs::directory_iterator each(folder, error), end; !error && each != end; each.increment(error)) {
    const std::string name = each->path().filename().string();
    if (name.starts_with(part_prefix) || name.starts_with(index_name) || name.starts_with(manifest_name))
      fs::remove(each->path(), error);
  }
  if (!error && fs::is_empty(folder, error)) fs::remove(folder, error);
  if (error && fs::exists(folder)) throw InputError(folder + ": cannot remove this checkpoint: " + error.message());
}

void remove_old_checkpoints(const std::string& folder, std::size_t kept) {
  auto folders = folders_of_steps(folder);
  const auto whole =
      std::stable_partition(folders.begin(), folders.end(), [](const auto& each) { return !is_whole(each.second); });
  std::set<fs::path> needed;
  for (auto each = folders.end(); each != whole && kept > 0; --kept) {
    needed.insert(fs::weakly_canonical((--each)->second));
    try {
      for (const std::string& before : chain_of(each->second.string())) needed.insert(fs::weakly_canonical(before));
    } catch (const InputError&) {  // of no use, but not ours to remove
    }
  }
  std::erase_if(folders, [&](const auto& each) { return needed.contains(fs::weakly_canonical(each.second)); });
  for (const auto& [step, path] : folders) remove_checkpoint(path.string());
}

}  // namespace shardmark::datasets
