// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reference/named.hpp"
#include "results/json_lines.hpp"

namespace shardmark::results {

/// This is the format of files of `predict --register`: one JSON object
///   {"format", "time", "build", "workload", "spec", "machine": {"name", "source", "measured", "hash"}, "within",
///    "predictions": [{"plan", "plan_digest", "ranks", "nodes", "step_ms", "phases", "options", "placement"}], "hash"}
/// "hash" is digest_of() the rest, written without spaces.
inline constexpr std::string_view registered_format = "shardmark-registered/1";

/// Returns 16 hexadecimal digits of a text (XXH3, 64 bits). They show a change; they do not prove who wrote a text.
std::string digest_of(std::string_view text);

/// Holds the prediction of a step, and of what: names and options are those of a CaseRecord.
struct RegisteredStep {
  std::string plan, plan_digest;
  std::int64_t ranks = 1, nodes = 1;
  double step_ms = 0.0;
  nlohmann::ordered_json phases = nlohmann::ordered_json::object();
  nlohmann::ordered_json options = nlohmann::ordered_json::object();    ///< value in effect of every option
  nlohmann::ordered_json placement = nlohmann::ordered_json::object();  ///< the plan, as a plan file has it
};

/// Holds predictions that were written down before anything was measured, so that they can be held against it.
struct Registered {
  std::string time;              ///< utc_time()
  nlohmann::ordered_json build;  ///< of the program that predicted (environment.hpp)
  std::string workload;
  nlohmann::ordered_json spec;  ///< of the workload, in full
  struct Machine {
    std::string name, source;
    bool measured = false;
    std::string hash;  ///< of all that the machine's files say and options changed of it
  } machine;
  double within = 0.0;  ///< the error that the predictions state: 0.25 for 25 %
  std::vector<RegisteredStep> steps;
};

nlohmann::ordered_json to_json(const Registered& registered);

/// Reads a file of that format. Throws InputError naming the file where it cannot be read, is of another format, was
/// changed after it was written, or lacks a key.
Registered read_registered(const std::filesystem::path& file);

/// Says what has become of a prediction.
enum class Standing { registered, refuted, younger, not_valid, not_measured };

/// These are the words for it, and the only place of their rules: standing_of() decides by them.
inline constexpr std::array standings{
    Choice<Standing>{"registered", "it is older than the measurement, and within its stated error of it",
                     Standing::registered},
    Choice<Standing>{"refuted", "it is older than the measurement, and further off than its stated error",
                     Standing::refuted},
    Choice<Standing>{"not counted: younger than the measurement",
                     "it was made in the second in which the first job of the file began, or later", Standing::younger},
    Choice<Standing>{"not counted: the measurement is not valid", "values were wrong, or not checked",
                     Standing::not_valid},
    Choice<Standing>{"not measured", "no file has a case of this workload, plan digest, number of ranks and options",
                     Standing::not_measured},
};

/// Returns the time at which the first job began whose samples stand in the file. Throws InputError naming the file
/// where its environment has none.
std::string measured_since(const Results& results, const std::string& file);

/// Returns what keeps the case from being the predicted one, and nothing in the list where it is: "exchange auto,
/// predicted with bruck"; the number of batches does not. Absent where the case is far from it: of another workload, on
/// other ranks, or with a plan of another name and digest.
std::optional<std::vector<std::string>> differences(const Registered& registered, const RegisteredStep& step,
                                                    const CaseRecord& record);

/// Returns what a case of the prediction, measured from that time on, makes of it.
Standing standing_of(const Registered& registered, const RegisteredStep& step, const CaseRecord& record,
                     std::string_view since);

}  // namespace shardmark::results
