// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>
#include <string>

#include "results/json_lines.hpp"
#include "results/results_table.hpp"
#include "results/test/sample_records.hpp"

namespace shardmark::results {
namespace {

namespace fs = std::filesystem;

class JsonLines : public FolderTest {
 protected:
  void write(std::string_view text) const { std::ofstream(file, std::ios::binary) << text; }
  std::string error_of(std::string_view text) const {
    write(text);
    return without_folder(input_error([&] { read_results(file); }));
  }
  std::string without_folder(std::string message) const {
    const std::string prefix = folder.string() + '/';
    for (std::size_t at; (at = message.find(prefix)) != std::string::npos;) message.erase(at, prefix.size());
    return message;
  }

  fs::path file = folder / "a.jsonl";
  std::string header = sample_environment().dump() + '\n';
  std::string line = to_json(sample_case("table_wise", 10.0)).dump() + '\n';
};

TEST_F(JsonLines, WhatIsWrittenIsRead) {
  JsonLinesWriter writer(file, sample_environment());
  writer.rewrite(sample_environment(), std::vector{sample_case("table_wise", 10.0), sample_case("row_wise", 12.5)});
  writer.close();
  EXPECT_FALSE(fs::exists(file.string() + ".partial"));
  EXPECT_EQ(contents(file), header + line + to_json(sample_case("row_wise", 12.5)).dump() + '\n');
  const Results results = read_results(file);
  EXPECT_EQ(results.environment, sample_environment());
  EXPECT_EQ(results.cases, (std::vector{sample_case("table_wise", 10.0), sample_case("row_wise", 12.5)}));
}

TEST_F(JsonLines, EveryFinishedCaseIsInThePartialFile) {
  const fs::path partial = file.string() + ".partial";
  {
    JsonLinesWriter writer(file, sample_environment());
    EXPECT_EQ(contents(partial), header);
    writer.append(to_json(sample_case("table_wise", 10.0)));
    EXPECT_EQ(contents(partial), header + line);
  }
  EXPECT_FALSE(fs::exists(file));
  EXPECT_EQ(read_results(partial).cases.size(), 1U);
}

/// What a round of measurements knows takes the place of what the round before it knew.
TEST_F(JsonLines, ARewrittenFileHoldsTheLatestLinesAlone) {
  const fs::path partial = file.string() + ".partial";
  nlohmann::ordered_json running = sample_environment();
  running["state"] = "running";
  JsonLinesWriter writer(file, running);
  for (const double ms : {12.0, 11.0, 10.0}) {
    const std::vector cases{sample_case("table_wise", ms), sample_case("row_wise", 2 * ms)};
    writer.rewrite(running, cases);
    EXPECT_EQ(read_results(partial).cases, cases);
    EXPECT_EQ(read_results(partial).environment, running);
  }
  writer.rewrite(sample_environment(), std::vector{sample_case("table_wise", 10.0)});
  writer.close();
  EXPECT_EQ(contents(file), header + line);
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), fs::directory_iterator()), 1);
}

TEST_F(JsonLines, WhatCannotBeRewrittenStaysAsItWas) {
  JsonLinesWriter writer(file, sample_environment());
  writer.rewrite(sample_environment(), std::vector{sample_case("table_wise", 10.0)});
  CaseRecord broken = sample_case("row_wise", 12.5);
  broken.imbalance = std::numeric_limits<double>::quiet_NaN();
  input_error([&] { writer.rewrite(sample_environment(), std::vector{sample_case("table_wise", 9.0), broken}); });
  EXPECT_EQ(contents(file.string() + ".partial"), header + line);
  writer.close();
  EXPECT_EQ(contents(file), header + line);
}

TEST_F(JsonLines, WhatIsNoRegularFileIsWrittenToAtTheEnd) {
  const fs::path link = folder / "null.jsonl";
  fs::create_symlink("/dev/null", link);
  JsonLinesWriter writer(link, sample_environment());
  writer.rewrite(sample_environment(), std::vector{sample_case("table_wise", 10.0)});
  writer.close();
  EXPECT_TRUE(fs::is_character_file("/dev/null"));
  EXPECT_TRUE(fs::is_symlink(link));
  EXPECT_FALSE(fs::exists(link.string() + ".partial"));
  JsonLinesWriter full("/dev/full", sample_environment());
  EXPECT_EQ(input_error([&] { full.close(); }), "/dev/full: cannot write this file: No space left on device");
}

TEST_F(JsonLines, MissingFoldersAreCreated) {
  file = folder / "x" / "y" / "a.jsonl";
  JsonLinesWriter(file, sample_environment()).close();
  EXPECT_TRUE(read_results(file).cases.empty());
}

TEST_F(JsonLines, ResultsAreReplacedOnlyWhereThatIsAllowed) {
  write("mine");
  EXPECT_EQ(without_folder(input_error([&] { JsonLinesWriter(file, sample_environment()); })),
            "a.jsonl: exists already; name another file, or --force to replace it");
  EXPECT_EQ(contents(file), "mine");
  fs::remove(file);
  std::ofstream(file.string() + ".partial") << "theirs";
  EXPECT_EQ(
      without_folder(input_error([&] { JsonLinesWriter(file, sample_environment()); })),
      "a.jsonl.partial exists: a run is writing it, or one was cut off; name another file, --resume it, or --force to "
      "replace it");
  JsonLinesWriter::require_writable(file, Replace::of(true));
  EXPECT_EQ(contents(file.string() + ".partial"), "theirs");
  write("mine");
  EXPECT_EQ(without_folder(
                input_error([&] { JsonLinesWriter(file, sample_environment(), {.file = false, .partial = true}); })),
            "a.jsonl: exists already; name another file, or --force to replace it");
  JsonLinesWriter writer(file, sample_environment(), Replace::of(true), std::vector{sample_case("table_wise", 10.0)});
  EXPECT_EQ(contents(file), "mine");
  EXPECT_EQ(contents(file.string() + ".partial"), header + line);
  writer.close();
  EXPECT_EQ(contents(file), header + line);
}

TEST_F(JsonLines, AnUnwritablePathIsRefusedAtOnce) {
  write("");
  EXPECT_EQ(without_folder(input_error([&] { JsonLinesWriter(file / "b.jsonl", sample_environment()); })),
            "cannot create the folder a.jsonl: Not a directory; name another file");
  EXPECT_EQ(without_folder(input_error([&] {
              JsonLinesWriter(folder / std::string(300, 'x'), sample_environment());
            })).substr(0, 11),
            "cannot open");
}

TEST_F(JsonLines, ALineThatDoesNotFitIsReported) {
  JsonLinesWriter writer(file, sample_environment());
  const auto restore_signal = std::signal(SIGXFSZ, SIG_IGN);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit small{.rlim_cur = header.size() + 10, .rlim_max = before.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);  // stands for a full disk
  const std::string message = input_error([&] { writer.append(to_json(sample_case("table_wise", 10.0))); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, restore_signal);
  EXPECT_EQ(without_folder(message), "a.jsonl.partial: cannot write this file: File too large");
}

TEST_F(JsonLines, ARecordThatCouldNotBeReadAgainIsRefused) {
  JsonLinesWriter writer(file, sample_environment());
  CaseRecord record = sample_case("table_wise", 10.0);
  record.imbalance = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(without_folder(input_error([&] {
              writer.rewrite(sample_environment(), {&record, 1});
            })),
            "a.jsonl: imbalance is not a finite number of at least 0; measure again");
}

TEST_F(JsonLines, TheDefaultFileIsNamedAfterWorkloadAndTime) {
  const std::string time = "2026-11-21T06:12:00Z";
  EXPECT_EQ(default_results_file("criteo-kaggle", time), "results/local/criteo-kaggle-20261121T061200Z.jsonl");
  EXPECT_EQ(default_results_file("../my tables.json", time), "results/local/.._my_tables.json-20261121T061200Z.jsonl");
}

TEST_F(JsonLines, TheDefaultFileIsNew) {
  const auto next = [&] { return default_results_file("w", "2026-11-21T06:12:00Z", folder); };
  const fs::path local = folder / "results/local";
  JsonLinesWriter(next(), sample_environment()).close();
  EXPECT_EQ(next(), local / "w-20261121T061200Z-2.jsonl");
  JsonLinesWriter unfinished(next(), sample_environment());
  EXPECT_EQ(next(), local / "w-20261121T061200Z-3.jsonl");
}

TEST_F(JsonLines, ALineThatCannotBeReadIsNamed) {
  EXPECT_EQ(error_of(header + line + "{\"record\":\"case\",}\n" + line),
            "a.jsonl:3: not valid JSON at column 18; measure again");
  EXPECT_EQ(error_of(header + "\n" + line), "a.jsonl:2: not valid JSON at column 1; measure again");
  EXPECT_EQ(error_of(header + R"({"record":"case","ranks":1e999})" + "\n"),
            "a.jsonl:2: a number is out of range; measure again");
  EXPECT_EQ(error_of(header + line + R"({"record":"case"})" + "\n"),
            "a.jsonl:3: the record lacks 'workload'; measure again");
  EXPECT_EQ(error_of(header + std::string(100'000, '[') + "\n"),
            "a.jsonl:2: JSON nested deeper than 32 levels; measure again");
}

TEST_F(JsonLines, ACutOffLastLineIsNamed) {
  EXPECT_EQ(error_of(header + line + line.substr(0, 100)), "a.jsonl:3: the last line is cut off; measure again");
  EXPECT_EQ(error_of(header.substr(0, 40)), "a.jsonl:1: the last line is cut off; measure again");
}

TEST_F(JsonLines, AWholeLastLineWithoutItsEndOfLineIsRead) {
  write(header + line.substr(0, line.size() - 1));
  EXPECT_EQ(read_results(file).cases.size(), 1U);
}

TEST_F(JsonLines, TheOrderOfRecordsIsChecked) {
  EXPECT_EQ(error_of(line), "a.jsonl:1: the first line is not an environment record; name a results file (.jsonl)");
  EXPECT_EQ(error_of("[1]\n"), "a.jsonl:1: the first line is not an environment record; name a results file (.jsonl)");
  EXPECT_EQ(error_of(header + line + header), "a.jsonl:3: a second environment record; one file holds one run");
  EXPECT_EQ(error_of(header + "{\"record\":\"ceiling\"}\n"),
            "a.jsonl:2: neither a case nor an exchange, but a record 'ceiling'; what scripts/measure wrote beside "
            "them, scripts/report shows");
  EXPECT_EQ(error_of(header + "{\"record\":7}\n"), "a.jsonl:2: neither a case nor an exchange");
  const std::string exchange =
      to_json(ExchangeRecord{.skew = "uniform", .exchange = "auto", .time_ms = {.median = 1, .n = 1}}).dump();
  EXPECT_EQ(error_of(header + line + exchange + '\n'), "a.jsonl:3: a record 'exchange' after one 'case'");
  EXPECT_EQ(error_of(header + exchange + '\n'),
            "a.jsonl: holds exchanges, which only shardmark results show reads; name a file of cases");
  EXPECT_EQ(error_of(""), "a.jsonl is empty; measure again");
}

TEST_F(JsonLines, AnotherVersionOfTheFormatIsRefused) {
  auto environment = sample_environment();
  environment["format_version"] = 1;
  EXPECT_EQ(error_of(environment.dump() + '\n' + line),
            "a.jsonl:1: format_version 1, and this program reads 2; measure again, or use the shardmark that wrote it");
  environment["format_version"] = "2\n";
  EXPECT_EQ(error_of(environment.dump() + '\n' + line),
            "a.jsonl:1: format_version \"2\\n\", and this program reads 2; measure again, or use the shardmark that "
            "wrote it");
  environment.erase("format_version");
  EXPECT_EQ(error_of(environment.dump() + '\n' + line),
            "a.jsonl:1: no format_version: this is no file of run, compare or exchange; what scripts/measure wrote "
            "beside them, scripts/report shows");
}

TEST_F(JsonLines, WhatARunLeftBehindIsNamed) {
  std::ofstream(folder / "a.jsonl.partial") << header << line;
  EXPECT_EQ(without_folder(input_error([&] { read_results(file); })),
            "cannot read a.jsonl; name a.jsonl.partial, which a run is writing or left");
  EXPECT_EQ(read_results(folder / "a.jsonl.partial").cases.size(), 1U);
}

TEST_F(JsonLines, AFileThatIsNoneIsNamed) {
  EXPECT_EQ(without_folder(input_error([&] { read_results(folder / "no.jsonl"); })),
            "cannot read no.jsonl; name a results file (.jsonl, or Google Benchmark's .json)");
  EXPECT_EQ(input_error([&] { read_results(folder); }),
            "cannot read " + folder.string() + "; name a results file (.jsonl, or Google Benchmark's .json)");
}

/// One of: cut, overwrite bytes, delete a stretch, repeat a stretch.
std::string damaged(std::string text, std::mt19937_64& random) {
  const auto position = [&] { return static_cast<std::size_t>(random() % text.size()); };
  switch (random() % 4) {
    case 0:
      return text.substr(0, position());
    case 1:
      for (auto count = 1 + random() % 4; count > 0; --count) text[position()] = static_cast<char>(random());
      return text;
    case 2:
      return text.erase(position(), random() % 64);
    default: {
      const std::string stretch = text.substr(position(), random() % 64);
      return text.insert(position(), stretch);
    }
  }
}

TEST_F(JsonLines, ADamagedFileIsReadOrRefusedByName) {
  const std::string whole = header + line + to_json(sample_case("row_wise", 12.5)).dump() + '\n';
  int refused = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    std::istringstream stream(damaged(whole, random));
    try {
      const Results results = read_results(stream, "a.jsonl");
      EXPECT_LE(results.cases.size(), 4U);
      if (seed % 8 != 0) continue;
      const Report report{results.environment, results.cases};
      for (const ResultsFormat& format : results_formats) format.print({&report, 1}, {});
    } catch (const InputError& error) {
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), message.npos) << message;
      EXPECT_NE(message.find("a.jsonl"), message.npos) << message;
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace shardmark::results
