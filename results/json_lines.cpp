// SPDX-License-Identifier: Apache-2.0
#include "results/json_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sstream>
#include <utility>

#include "reference/error.hpp"
#include "reference/input_file.hpp"
#include "reference/json.hpp"
#include "reference/output_file.hpp"
#include "results/environment.hpp"

namespace shardmark::results {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

fs::path partial_of(const fs::path& file) { return file.string() + ".partial"; }

/// On one line.
std::string plain_kind(std::string_view kind) {
  std::string text(kind.substr(0, 40));
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == 127; }, '?');
  return text;
}

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
      throw InputError(fmt::format("{}: the last line is cut off; measure again", origin));
    const std::string place = error.byte() > 0 ? fmt::format(" at column {}", error.byte()) : "";
    throw InputError(fmt::format("{}: {}{}; measure again", origin, error.what(), place));
  }
}

/// Refuses another version of the format, whose fields would be misread.
void require_known_format(const Json& environment, const std::string& origin) {
  const Json version = environment.value("format_version", Json());
  if (version.is_null())
    throw InputError(origin +
                     ": no format_version: this is no file of run, compare or exchange; what scripts/measure "
                     "wrote beside them, scripts/report shows");
  if (version != format_version)
    throw InputError(
        fmt::format("{}: format_version {}, and this program reads {}; measure again, or use the shardmark "
                    "that wrote it",
                    origin, version.dump(-1, ' ', true, Json::error_handler_t::replace), format_version));
}

/// Creates FILE.partial only if there is none: it may belong to a run that still goes on. Returns whether there was
/// none.
bool create_partial(const fs::path& file, Replace replace) {
  require_new(file.string(), replace.file);
  const fs::path partial = partial_of(file);
  std::error_code error;
  if (file.has_parent_path()) fs::create_directories(file.parent_path(), error);
  if (error)
    throw InputError(fmt::format("cannot create the folder {}: {}; name another file", file.parent_path().string(),
                                 error.message()));
  std::FILE* const created = std::fopen(partial.c_str(), "wx");
  if (created == nullptr && errno == EEXIST && replace.partial) return false;
  if (created == nullptr && errno == EEXIST)
    throw InputError(
        fmt::format("{} exists: a run is writing it, or one was cut off; name another file, --resume it, or "
                    "--force to replace it",
                    partial.string()));
  if (created == nullptr)
    throw InputError(fmt::format("cannot open {}: {}; name another file", partial.string(), std::strerror(errno)));
  std::fclose(created);
  return true;
}

std::string contents_of(const fs::path& file) {
  if (auto text = file_text(file)) return *std::move(text);
  throw InputError(fmt::format("cannot read {}; {}", file.string(),
                               fs::exists(partial_of(file))
                                   ? fmt::format("name {}, which a run is writing or left", partial_of(file).string())
                                   : "name a results file (.jsonl, or Google Benchmark's .json)"));
}

/// Parses a document of several lines.
Json parsed(std::string text, const std::string& file) {
  // Google Benchmark writes the variation of a counter that is 0 as a number that JSON has not.
  for (const std::string_view no_number : {": NaN", ": -NaN", ": Infinity", ": -Infinity"})
    for (std::size_t at = text.find(no_number); at != text.npos; at = text.find(no_number, at))
      text.replace(at, no_number.size(), ": null");
  try {
    return parse_json(text);
  } catch (const JsonError& error) {
    const auto end = text.begin() + static_cast<std::ptrdiff_t>(std::min(error.byte(), text.size()));
    const std::string line = error.byte() > 0 ? fmt::format(":{}", 1 + std::count(text.begin(), end, '\n')) : "";
    throw InputError(fmt::format("{}{}: {}; measure again", file, line, error.what()));
  }
}

/// The first line of JSON Lines is a whole record; what Google Benchmark writes spans lines.
bool is_json_lines(const std::string& text) {
  const Json first = Json::parse(text.substr(0, text.find('\n')), nullptr, false);
  return first.is_object() && !first.contains("benchmarks");
}

/// Reads an environment record, and then records of cases or of exchanges.
Results read_lines(std::istream& stream, const std::string& name) {
  Results results;
  std::int64_t number = 0;
  std::string kind_of_first;
  for (std::string line; std::getline(stream, line);) {
    const std::string origin = fmt::format("{}:{}", name, ++number);
    const Json json = parse_line(line, origin, stream.eof());
    const std::string_view kind = kind_of(json);
    if (number == 1 && kind != "environment")
      throw InputError(origin + ": the first line is not an environment record; name a results file (.jsonl)");
    if (number > 1 && kind == "environment")
      throw InputError(origin + ": a second environment record; one file holds one run");
    if (number > 1 && kind != "case" && kind != "exchange")
      throw InputError(fmt::format("{}: neither a case nor an exchange{}", origin,
                                   kind.empty() ? ""
                                                : fmt::format(", but a record '{}'; what scripts/measure wrote beside "
                                                              "them, scripts/report shows",
                                                              plain_kind(kind))));
    if (number == 2) kind_of_first = kind;
    if (number > 2 && kind != kind_of_first)
      throw InputError(fmt::format("{}: a record '{}' after one '{}'", origin, kind, kind_of_first));
    if (number == 1) {
      require_known_format(json, origin);
      results.environment = json;
    } else if (kind == "case") {
      results.cases.push_back(case_record_from_json(json, origin));
    } else {
      results.exchanges.push_back(exchange_record_from_json(json, origin));
    }
  }
  if (stream.bad()) throw InputError(fmt::format("cannot read {} beyond line {}; copy it anew", name, number));
  if (number == 0) throw InputError(fmt::format("{} is empty; measure again", name));
  return results;
}

std::string line_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n'; }

}  // namespace

void JsonLinesWriter::require_writable(const fs::path& file, Replace replace) {
  if (!is_written_directly(file.string()) && create_partial(file, replace)) fs::remove(partial_of(file));
}

JsonLinesWriter::JsonLinesWriter(fs::path file, const Json& environment, Replace replace,
                                 std::span<const CaseRecord> cases)
    : file_(std::move(file)), partial_(is_written_directly(file_.string()) ? "" : partial_of(file_)) {
  if (!partial_.empty()) create_partial(file_, replace);
  rewrite(environment, cases);
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
  std::istringstream stream(contents_of(file));
  return read_results(stream, file.string());
}

Results read_results(std::istream& stream, const std::string& name) {
  Results results = read_lines(stream, name);
  require_no_exchanges(results, name);
  return results;
}

void require_no_exchanges(const Results& results, const std::string& name) {
  if (!results.exchanges.empty())
    throw InputError(name + ": holds exchanges, which only shardmark results show reads; name a file of cases");
}

Results read_any_results(const fs::path& file) {
  const std::string text = contents_of(file), name = file.string();
  if (text.empty() || is_json_lines(text)) {
    std::istringstream stream(text);
    return read_lines(stream, name);
  }
  Results results;
  results.benchmarks = parsed(text, name);
  if (!results.benchmarks.is_object())
    throw InputError(name + ":1: neither a results file nor one of Google Benchmark");
  results.environment = results.benchmarks.value("context", Json::object());
  return results;
}

}  // namespace shardmark::results
