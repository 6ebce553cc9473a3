// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>

#include "results/json_lines.hpp"
#include "results/record.hpp"

namespace shardmark::results {

/// A Report is one results file as people read it: of cases, of exchanges or of Google Benchmark.
struct Report {
  const nlohmann::ordered_json& environment;
  std::span<const CaseRecord> cases;
  std::string name = {};  ///< of the file
  std::span<const ExchangeRecord> exchanges = {};
  const nlohmann::ordered_json* benchmarks = nullptr;  ///< the document; null of other files
};

/// Makes the report of a file that was read; it refers to both.
Report report_of(const Results& results, const std::string& name);

/// Returns whether all values in the file are right, and the last line, "RESULT: VALID"; benchmarks have no such line.
bool is_right(const Report& report);
std::string result_line(const Report& report);

struct TableOptions {
  bool all = false;         ///< every case and its phases, in place of the best of each plan and those of the best
  bool emphasis = false;    ///< bold the best case and dim those not shown to differ from it, as a terminal does
  std::size_t width = 120;  ///< most characters of a line
};

/// Returns lines of text, at most `width` wide but for words that are wider:
///   lines with '#'  what ran where; what all cases have in common; what the columns mean, and which ones did not fit
///   a line a case   the best of each plan (or where all have one plan, of each value of what else differs first),
///                   valid ones first, then unchecked, then wrong ones, each by falling samples/s. Wrong ones are
///                   never left out. Fields in which the cases differ are columns
///   # phases of ..  where they were predicted: measured, predicted and least ms of the phases of the best case, with
///                   `all` of each
///   # fast / slow   where the environment has a published ratio of two plans, ours beside it
///   ANSWER:         the answer in words (results/table/answer.hpp)
///   FOM samples/s:  the rate of the best valid case, or none
///   RESULT:         the verdict (results/verdict.hpp)
/// Milliseconds and megabytes have about four significant digits; 1 MB = 10^6 bytes.
std::string results_table(const nlohmann::ordered_json& environment, std::span<const CaseRecord> records,
                          const TableOptions& options = {});

/// Prints results_table() of each report, or the table of its exchanges or benchmarks; where there are several, each
/// below a line "# file NAME". Launches of cases on different numbers of ranks or nodes become one table
/// (results/scaling.hpp), unless they differ in what may not differ there: then that is printed, and each by itself.
std::string as_text(std::span<const Report> reports, const TableOptions& options);
/// Prints the same as Markdown, for pasting: tables of GitHub's kind, as wide as they come out.
std::string as_markdown(std::span<const Report> reports, const TableOptions& options);
/// Prints every field of every case, in the order of the files. The first line names the columns after the fields of
/// the record, "step_ms.median"; `file` stands before them where there are several reports. Cells are quoted as in RFC
/// 4180; lines end in \n alone. There is no verdict: `valid` says for each case whether it was checked and right.
std::string as_csv(std::span<const Report> reports, const TableOptions& options);

/// Prints one JSON document, an array with an object for each report, for other programs: what the table, the answer
/// and the verdict say, as numbers. The keys of the object, in this order; what there is not is null:
///   file         its name
///   cases        of each case, in the order of the file: number (from 0 on), workload, plan, options, valid, rank
///   (from
///                1 on, among the cases of its job, as the table orders them), step_ms {median, low, high},
///                samples_per_s, ratio (to the time per sample of the first of its job, where that is valid),
///                predicted_ms, error (as in PredictedTime)
///   ratios       of each two valid cases of a workload: slow, fast (their numbers), ratio (at least 1), low, high,
///                rounds, distinguishable (TimeRatio). All pairs of a job are compared
///   predictions  of the predicted valid cases of each workload, in the order of the file: workload, cases (how many),
///                mean_error, rank_correlation, liked (its number), regret (PredictionQuality). The last, without a
///                workload, is of all; where there are several workloads it has neither ranks nor regret
///   answer       the sentences of ANSWER
///   result       the last line, "RESULT: VALID"
/// The `name` of a case tells it from the others, `leads` says that it is the fastest valid one of what `answer`
/// compares (the plan, first of all), `tied` that it is not distinguishable from the best of its job, `stopped` that it
/// was stopped early (absent else), and `parts` are the milliseconds of the phases, and of waiting, that add up to its
/// step; null where nobody knows whose part is whose. Of a file, `circumstances` say what was measured where, and
/// `compared` what its cases differ in first, mostly the plan. A file of exchanges has `file`, `exchanges` (its records
/// without samples), `findings` and `result`; one of Google Benchmark `file` and `benchmarks` {name, median_ms, error,
/// counters}. Where launches make one table of scaling, an object of its own follows: scaling (strong, weak or neither;
/// null where they make none), circumstances, workload, differing (why not), rows {plan, name, line, ranks, nodes,
/// launches, batch, batch_per_rank, step_ms, samples_per_s {median, low, high}, speedup, efficiency, predicted_ms}.
std::string as_json(std::span<const Report> reports, const TableOptions& options);

/// A ResultsFormat is a way to print results.
struct ResultsFormat {
  std::string_view name;
  std::string_view description;
  std::string (*print)(std::span<const Report> reports, const TableOptions& options);
};
inline constexpr std::array results_formats{
    ResultsFormat{"text", "a table of at most 120 columns and the answer in words, for reading", as_text},
    ResultsFormat{"markdown", "the same as Markdown, for pasting", as_markdown},
    ResultsFormat{"csv", "every field of every case, for other programs", as_csv},
    ResultsFormat{"json", "ranks, ratios and the answer as one document, for other programs", as_json},
};

}  // namespace shardmark::results
