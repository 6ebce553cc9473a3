// SPDX-License-Identifier: Apache-2.0
#include "results/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "reference/error.hpp"
#include "reference/json.hpp"
#include "reference/output_file.hpp"
#include "results/environment.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

fs::path partial_of(const fs::path& file) { return file.string() + ".partial"; }

std::string_view kind_of(const Json& json) {
  if (!json.is_object() || !json.contains("record") || !json.at("record").is_string()) return "";
  return json.at("record").get_ref<const std::string&>();
}

/// Reads one line. `origin` is "file:line"; `cut_off`: the line is the last one and lacks its end.
Json parse_line(const std::string& line, const std::string& origin, bool cut_off) {
  try {
    return parse_json(line);
  } catch (const JsonError& error) {
    if (cut_off && error.byte() > 0)
      throw InputError(fmt::format("{}: the last line is cut off; remove it, or measure again", origin));
    const std::string place = error.byte() > 0 ? fmt::format(" at column {}", error.byte()) : "";
    throw InputError(fmt::format("{}: {}{}; remove the line, or measure again", origin, error.what(), place));
  }
}

/// Refuses another version of the format, whose fields would be misread.
void require_known_format(const Json& environment, const std::string& origin) {
  const Json version = environment.value("format_version", Json());
  if (version != format_version)
    throw InputError(
        fmt::format("{}: format_version {}, and this program reads {}; measure again, or use the shardmark "
                    "that wrote it",
                    origin, version.dump(-1, ' ', true, Json::error_handler_t::replace), format_version));
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace

void JsonLinesWriter::require_writable(const fs::path& file) {
  const JsonLinesWriter writer(file, Json::object());
  if (!writer.partial_.empty()) fs::remove(writer.partial_);
}

JsonLinesWriter::JsonLinesWriter(fs::path file, const Json& environment, bool resumes)
    : file_(std::move(file)), partial_(partial_of(file_)) {
  std::error_code error;
  const fs::file_status status = fs::status(file_, error);
  if (fs::exists(status) && !fs::is_regular_file(status) && !fs::is_directory(status))
    partial_.clear();
  else
    create_partial(resumes);
  if (resumes) return;  // what it holds stays until there is more
  text_ = line_of(environment);
  save();
}

/// Creates FILE.partial only if there is none: it may belong to a run that still goes on.
void JsonLinesWriter::create_partial(bool resumes) const {
  std::error_code error;
  if (fs::exists(file_, error))
    throw InputError(fmt::format("{} exists already; name another file or remove it", file_.string()));
  if (file_.has_parent_path()) fs::create_directories(file_.parent_path(), error);
  if (resumes && fs::exists(partial_)) return;
  if (error)
    throw InputError(fmt::format("cannot create the folder {}: {}; name another file", file_.parent_path().string(),
                                 error.message()));
  std::FILE* const created = std::fopen(partial_.c_str(), "wx");
  if (created == nullptr && errno == EEXIST)
    throw InputError(fmt::format("{} exists: a run is writing it, or one was cut off; name another file or remove it",
                                 partial_.string()));
  if (created == nullptr)
    throw InputError(fmt::format("cannot open {}: {}; name another file", partial_.string(), std::strerror(errno)));
  std::fclose(created);
}

void JsonLinesWriter::rewrite(const Json& environment, std::span<const CaseRecord> cases) {
  std::string text = line_of(environment);
  for (const CaseRecord& record : cases) {
    const Json json = to_json(record);
    case_record_from_json(json, file_.string());
    text += line_of(json);
  }
  text_ = std::move(text);
  save();
}

void JsonLinesWriter::append(const Json& record) {
  text_ += line_of(record);
  save();
}

void JsonLinesWriter::discard() {
  std::error_code error;
  if (!partial_.empty()) fs::remove(partial_, error);
  partial_.clear();
}

void JsonLinesWriter::save() const {
  if (!partial_.empty()) write_file(partial_, text_);
}

void JsonLinesWriter::close() {
  write_file(file_, text_);
  std::error_code error;
  if (!partial_.empty()) fs::remove(partial_, error);
}

fs::path default_results_file(std::string_view workload, std::string_view time, const fs::path& folder) {
  std::string name(workload);
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  std::ranges::replace_if(
      name, [&](char c) { return !is_plain(c); }, '_');
  std::string compact(time);
  std::erase_if(compact, [](char c) { return c == '-' || c == ':'; });
  const fs::path stem = folder / "results/local" / (name + '-' + compact);
  fs::path file = stem.string() + ".jsonl";
  for (int copy = 2; fs::exists(file) || fs::exists(partial_of(file)); ++copy)
    file = fmt::format("{}-{}.jsonl", stem.string(), copy);
  return file;
}

Results read_results(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || fs::is_directory(file))
    throw InputError(fmt::format("cannot read {}; {}", file.string(),
                                 fs::exists(partial_of(file))
                                     ? fmt::format("name {}, which a run is writing or left", partial_of(file).string())
                                     : "name a results file (.jsonl)"));
  return read_results(stream, file.string());
}

Results read_results(std::istream& stream, const std::string& name) {
  Results results;
  std::int64_t number = 0;
  for (std::string line; std::getline(stream, line);) {
    const std::string origin = fmt::format("{}:{}", name, ++number);
    const Json json = parse_line(line, origin, stream.eof());
    const std::string_view kind = kind_of(json);
    if (number == 1 && kind != "environment")
      throw InputError(origin + ": the first line is not an environment record; name a results file (.jsonl)");
    if (number > 1 && kind == "environment")
      throw InputError(origin + ": a second environment record; one file holds one run, split it here");
    if (number > 1 && kind != "case")
      throw InputError(origin + ": neither an environment nor a case record; remove the line");
    if (number == 1) {
      require_known_format(json, origin);
      results.environment = json;
    } else {
      results.cases.push_back(case_record_from_json(json, origin));
    }
  }
  if (stream.bad()) throw InputError(fmt::format("cannot read {} beyond line {}; copy it anew", name, number));
  if (number == 0) throw InputError(fmt::format("{} is empty; name a results file (.jsonl)", name));
  return results;
}

}  // namespace shardmark::results
