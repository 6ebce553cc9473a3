// SPDX-License-Identifier: Apache-2.0
// `results plot`: checks what is asked for and starts the script that draws; every number of a picture is one of
// `results show --format json`, which the script asks this program for.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "reference/error.hpp"
#include "reference/named.hpp"
#include "reference/output_file.hpp"
#include "results/scaling.hpp"
#include "results/verdict.hpp"
#include "workloads/command/command.hpp"
#include "workloads/command/launcher.hpp"
#include "workloads/command/start_script.hpp"

namespace shardmark::workloads {
namespace {

namespace fs = std::filesystem;

struct PlotArguments {
  std::vector<std::string> files;
  std::string what = "auto", out;
  bool all = false, force = false;
};

/// A picture: what it shows.
struct Picture {
  std::string_view name, description;
};
constexpr std::array pictures{
    Picture{"auto", "scaling of files on several numbers of ranks or nodes, step of one file"},
    Picture{"step", "the cases of one file by their time, and the phases that it is made of"},
    Picture{"scaling", "time of a step and samples/s against ranks, of several files"},
    Picture{"predicted", "the prediction of each case of one file beside what was measured"},
};
constexpr std::array<std::string_view, 3> endings{".svg", ".pdf", ".png"};

/// Returns the picture that these files give. Throws InputError where they do not give the one that is asked for, and
/// Failure where they are launches that may not stand in one picture.
std::string picture_of(const PlotArguments& arguments, std::span<const results::Report> reports) {
  const auto scaling = results::scaling_of(reports, arguments.all);
  const std::string what = arguments.what != "auto" ? arguments.what : scaling ? "scaling" : "step";
  if (what == "scaling") {
    if (!scaling)
      throw InputError("--what scaling: it takes several files, of launches on different numbers of ranks or nodes");
    for (const std::string& line : scaling->differing) fmt::print(stderr, "shardmark: {}\n", line);
    if (!scaling->differing.empty()) throw Failure{3};
    if (scaling->rows.empty()) throw InputError("--what scaling: no case of these files is valid");
    return what;
  }
  if (reports.size() > 1)
    throw InputError(fmt::format("{} files on one number of ranks: --what {} takes one file", reports.size(), what));
  const auto shows = [&](const results::CaseRecord& record) {
    return results::is_valid(record) && (what == "step" || record.predicted_ms);
  };
  if (std::ranges::none_of(reports.front().cases, shows))
    throw InputError(fmt::format("{}: --what {}: no case is valid{}", reports.front().name, what,
                                 what == "step" ? "" : " and was predicted; measure with --machine auto"));
  return what;
}

/// Replaces this program by the script that draws.
[[noreturn]] void draw(const PlotArguments& arguments, const std::string& what) {
  std::vector<std::string> words{"--program", this_program(), "--what", what, "--out", arguments.out};
  if (arguments.all) words.emplace_back("--all");
  words.emplace_back("--");
  words.insert(words.end(), arguments.files.begin(), arguments.files.end());
  start_script("results plot", "matplotlib", "measured/plots.py", words);
}

void plot(const PlotArguments& arguments) {
  require_alone("results plot");
  choice_named(pictures, "picture", arguments.what);
  const std::string ending = fs::path(arguments.out).extension();
  if (std::ranges::find(endings, ending) == endings.end())
    throw InputError(fmt::format("--out {}: name a file that ends in .svg, .pdf or .png", arguments.out));
  require_new(arguments.out, arguments.force);
  if (const fs::path folder = fs::path(arguments.out).parent_path(); !folder.empty() && !fs::is_directory(folder))
    throw InputError(fmt::format("--out {}: there is no folder {}", arguments.out, folder.string()));
  std::vector<results::Results> all;
  for (const std::string& file : arguments.files) all.push_back(results::read_any_results(file));
  std::vector<results::Report> reports;
  for (std::size_t i = 0; i < all.size(); ++i) {
    reports.push_back(results::report_of(all[i], arguments.files[i]));
    if (all[i].cases.empty())
      throw InputError(fmt::format("{}: holds no cases of run or compare; results show prints it", arguments.files[i]));
  }
  draw(arguments, picture_of(arguments, reports));
}

}  // namespace

void define_results_plot(CLI::App& app) {
  const auto arguments = std::make_shared<PlotArguments>();
  app.add_option("FILE", arguments->files, "results files (.jsonl, .jsonl.partial) of run and compare")->required();
  app.add_option("--out", arguments->out, "picture to write: .svg, .pdf or .png")->required()->type_name("FILE");
  add_force(app, arguments->force);
  app.add_option("--what", arguments->what, described("picture", pictures))->capture_default_str();
  app.add_flag("--all", arguments->all, "every case, not only the best of each plan");
  app.callback([arguments] { plot(*arguments); });
}

}  // namespace shardmark::workloads
