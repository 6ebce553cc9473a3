#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""results diff: launches in both formats compared, exit codes, what is refused."""
import json
import random
import xml.etree.ElementTree

from program import ProgramTest, main

STEADY = (1.000, 1.002, 0.999, 1.001, 0.998, 1.003, 1.000, 0.997)
HEADER = "| case | old | new | new / old [95 %] | floor | p | verdict |"


def google(times, context=None):
    """A file of Google Benchmark: {"case": milliseconds, or an error message}."""
    rows = [{"name": name, "run_name": name, "run_type": "iteration", "time_unit": "us", "real_time": ms * 1000}
            if not isinstance(ms, str) else
            {"name": name, "run_name": name, "error_occurred": True, "error_message": ms}
            for name, ms in times.items()]
    return {"context": {"host_name": "node1", "flags": "-O3", "git_hash": "0" * 40, "date": str(random.random()),
                        **(context or {})}, "benchmarks": rows}


class Diff(ProgramTest):
    def launches(self, factors, context=None, jitter=STEADY):
        """A folder with a launch for each of `jitter`, in which case NAME takes factors[NAME] ms."""
        folder = self.new_path()
        folder.mkdir()
        for number, scale in enumerate(jitter):
            times = {name: ms if isinstance(ms, str) else ms * scale for name, ms in factors.items()}
            (folder / f"{number}.json").write_text(self.new_file(google(times, context)).read_text())
        return folder

    def diff(self, *arguments):
        return self.serial("results", "diff", *arguments)

    def rows(self, outcome):
        return {line.split(" | ")[0][2:]: line for line in outcome.out.splitlines() if line.startswith("| ")}

    def test_a_slower_case_is_worse_and_exits_with_1(self):
        old, new = self.launches({"a": 10, "b": 1}), self.launches({"a": 10.5, "b": 1})
        for more in ([], ["--paired"]):
            outcome = self.diff(old, new, *more)
            self.assertEqual(outcome.code, 1, outcome.err)
            self.assertIn(HEADER, outcome.out)
            self.assertRegex(self.rows(outcome)["a"], r"\| 10 ms \| 10.5 ms \| 1.050 \[.*\*\*worse\*\* \|$")
            self.assertRegex(self.rows(outcome)["b"], r"\| same \|$")
            self.assertEqual(outcome.last_line(),
                             "RESULT: WORSE (1 worse, 0 better, 1 same, 0 unclear, 0 missing, of 2 cases)")
            self.assertEqual(outcome.err, "")

    def test_formats_for_continuous_integration_name_what_fails(self):
        name = "lookup<64>/zipf, \"hot\" & 50%:1"
        old, new = self.launches({name: 10, "b": 1, "c": 2}), self.launches({name: 12, "b": 1, "d": 2})
        outcomes = {format: self.diff(old, new, "--format", format) for format in ("github", "junit", "bmf", "json")}
        for outcome in outcomes.values():
            self.assertEqual((outcome.code, outcome.err), (1, ""))
        lines = outcomes["github"].out.splitlines()
        self.assertRegex(lines[0], r"^::error title=lookup<64>/zipf%2C \"hot\" & 50%25%3A1::worse: 1\.200 times the time of OLD \[")
        self.assertEqual([line.partition("::")[2].split(" ")[0] for line in lines], ["error", "warning", "warning", "notice"])
        suite = xml.etree.ElementTree.fromstring(outcomes["junit"].out)
        self.assertEqual({key: suite.get(key) for key in ("tests", "failures", "skipped")}, {"tests": "4", "failures": "1", "skipped": "2"})
        self.assertEqual([case.get("name") for case in suite.iter("testcase") if case.find("failure") is not None], [name])
        self.assertAlmostEqual(json.loads(outcomes["bmf"].out)[name]["latency"]["value"], 12e6, delta=1e5)
        self.assertEqual({case["case"]: (case["change"], case["fails"]) for case in json.loads(outcomes["json"].out)["cases"]},
                         {name: ("worse", True), "b": ("same", False), "c": ("missing", False), "d": ("missing", False)})
        strict = xml.etree.ElementTree.fromstring(self.diff(old, new, "--format", "junit", "--strict").out)
        self.assertEqual(strict.get("failures"), "3")
        self.refuses(self.diff(old, new, "--format", "html"), "html", "text, github, junit, bmf, json")

    def test_faster_or_equal_cases_exit_with_0(self):
        outcome = self.succeeds(self.diff(self.launches({"a": 10, "b": 1}), self.launches({"a": 9, "b": 1})))
        self.assertIn("**better**", self.rows(outcome)["a"])

    def test_the_smallest_effect_is_an_option(self):
        old, new = self.launches({"a": 10}), self.launches({"a": 10.5})
        for effect in ("6%", "0.06"):
            self.assertIn("same", self.rows(self.succeeds(self.diff(old, new, "--min-effect", effect)))["a"])
        for effect in ("0", "-3%", "100%", "3 %", "some", ""):
            self.refuses(self.diff(old, new, "--min-effect", effect), "--min-effect")

    def test_single_launches_are_unclear_and_say_what_to_run(self):
        outcome = self.succeeds(self.diff(self.new_file(google({"a": 1})), self.new_file(google({"a": 2}))))
        self.assertIn("unclear: too few launches; run at least 4 of each", self.rows(outcome)["a"])
        self.assertIn("RESULT: UNCLEAR", outcome.last_line())

    def test_files_can_be_named_one_by_one(self):
        old, new = self.launches({"a": 10}), self.launches({"a": 10.5})
        by_folder = self.diff(old, new).out
        self.assertEqual(self.diff(old, *sorted(new.iterdir())).out, by_folder)
        self.assertEqual(self.diff("--new", *sorted(new.iterdir()), "--old", *sorted(old.iterdir())).out, by_folder)

    def test_noise_floors_come_from_aa_launches(self):
        old, new = self.launches({"a": 10}), self.launches({"a": 10.5})
        noise = self.launches({"a": 10}, jitter=(1, 1.2, 0.9, 1.1, 1, 0.8, 1.15, 0.9))
        outcome = self.succeeds(self.diff(old, new, "--aa", noise))
        self.assertRegex(outcome.out, "^OLD: 8 launches of 000000000000; NEW: .*; floors from 8 A/A launches;")
        self.assertIn("unclear: the noise floor hides the smallest effect", self.rows(outcome)["a"])

    def test_a_counter_can_take_the_place_of_the_time(self):
        files = []
        for us in (100, 200):
            rows = google({"a": 7})
            rows["benchmarks"][0]["median_us"] = us
            files.append(self.new_file(rows))
        row = self.rows(self.succeeds(self.diff(*files, "--counter", "median_us")))["a"]
        self.assertIn("| 100 µs | 200 µs | 2.000", row)
        self.refuses(self.diff(*files, "--counter", "p99_us"), "benchmarks[0]: p99_us")

    def test_a_missing_case_says_where(self):
        outcome = self.succeeds(self.diff(self.launches({"a": 1, "b": 1}), self.launches({"a": 1})))
        self.assertIn("missing: not in NEW", self.rows(outcome)["b"])
        self.assertIn("RESULT: UNCLEAR", outcome.last_line())

    def test_strict_fails_on_what_is_unclear_or_missing(self):
        steady = self.launches({"a": 1, "b": 1})
        for new in (self.launches({"a": 1}), self.new_file(google({"a": 1, "b": 1}))):
            self.assertIn("RESULT: UNCLEAR", self.succeeds(self.diff(steady, new)).last_line())
            outcome = self.diff(steady, new, "--strict")
            self.assertEqual((outcome.code, outcome.err), (1, ""))
            self.assertIn("RESULT: UNCLEAR", outcome.last_line())
        self.succeeds(self.diff(steady, self.launches({"a": 1, "b": 0.9}), "--strict"))

    def test_a_gate_fails_above_what_it_is_given(self):
        one, other = self.new_file(google({"a": 1, "b": 1})), self.new_file(google({"a": 1.2, "b": 1}))
        self.succeeds(self.diff(one, other))
        outcome = self.diff(one, other, "--fail-above", "10%")
        self.assertEqual(outcome.code, 1, outcome.out)
        self.assertLess(outcome.out.index("1 of 2 more than 10 % slower: a 1.200"), outcome.out.index("| case |"))
        self.assertIn("RESULT: FAILED", outcome.last_line())
        self.assertIn("none of 2 more than 30 % slower", self.succeeds(self.diff(one, other, "--fail-above", "0.3")).out)
        self.refuses(self.diff(one, other, "--fail-above", "much"), "--fail-above")

    def test_a_baseline_says_what_it_can_show(self):
        noise = self.launches({"a": 10, "b": 1}, jitter=(1, 1.2, 0.9, 1.1, 1, 0.8, 1.15, 0.9))
        outcome = self.succeeds(self.serial("results", "floors", noise))
        self.assertRegex(outcome.out, r"^this baseline of 8 launches can show changes above \d+\.\d % only ")
        self.refuses(self.serial("results", "floors", self.new_path()), "cannot read")

    def test_an_error_in_new_alone_is_worse(self):
        outcome = self.diff(self.launches({"a": 1, "b": 1}), self.launches({"a": 1, "b": "out of memory"}))
        self.assertEqual(outcome.code, 1)
        self.assertRegex(self.rows(outcome)["b"], r"\*\*worse\*\*: NEW \(.*\): out of memory")

    def test_records_of_this_program_are_compared(self):
        files = []
        for _ in range(2):
            outcome, file = self.case(2)
            self.succeeds(outcome)
            files.append(file)
        outcome = self.succeeds(self.diff(*files))
        self.assertRegex("".join(self.rows(outcome)), "criteo-kaggle/.*/scale:4096/ranks:2/threads:1/batch:240")

    def test_cases_that_differ_in_any_option_are_not_the_same_case(self):
        _, usual = self.case(1)
        for changed in ({"dtype": "fp16"}, {"hotness": 20}, {"dim": 64}, {"stochastic_rounding": "true"}):
            outcome, file = self.case(1, **changed)
            self.succeeds(outcome)
            self.not_comparable(self.diff(usual, file), "no case in common")

    def test_options_that_differ_under_one_name_are_named_unless_allowed(self):
        _, old = self.case(1, set="hotness=2")
        lines = old.read_text().splitlines()
        record = json.loads(lines[1])
        record["options"]["dim"] = 64
        new = self.new_file("\n".join([lines[0], json.dumps(record), ""]), ".jsonl")
        self.not_comparable(self.diff(old, new), "dim of criteo-kaggle/", "/hotness:2/", "differs: '16' in", "'64' in",
                            "--allow dim")
        self.assertIn("dim of", self.succeeds(self.diff(old, new, "--allow", "dim")).err)

    def not_comparable(self, outcome, *texts):
        self.assertEqual((outcome.code, outcome.out), (3, ""), outcome.out + outcome.err)
        for text in texts:
            self.assertIn(text, outcome.err)

    def test_other_hosts_or_builds_are_refused_unless_allowed(self):
        old, new = self.launches({"a": 1}), self.launches({"a": 1}, {"host_name": "node2", "flags": "-O2"})
        self.not_comparable(self.diff(old, new), "host_name differs: 'node1' in", "'node2' in", "flags differs",
                            "--allow host_name")
        self.not_comparable(self.diff(old, new, "--allow", "flags"), "host_name")
        outcome = self.succeeds(self.diff(old, new, "--allow", "flags,host_name"))
        self.assertIn("host_name differs", outcome.err)
        self.assertEqual(self.succeeds(self.diff(old, new, "--allow", "all")).out, outcome.out)

    def test_launches_of_two_commits_are_no_side(self):
        old, new = self.launches({"a": 1}), self.launches({"a": 1}, {"git_hash": "1" * 40})
        self.succeeds(self.diff(old, new))
        self.not_comparable(self.diff(old, new, old), "revision differs")

    def test_no_common_case_is_not_comparable(self):
        self.not_comparable(self.diff(self.launches({"a": 1}), self.launches({"b": 1})), "no case in common")

    def test_bad_input_is_named(self):
        good = self.launches({"a": 1})
        broken = self.new_file('{\n"context": {},\n"benchmarks": [}\n', ".json")
        self.refuses(self.diff(good, broken), f"{broken}:3: not valid JSON")
        self.refuses(self.diff(good, "absent.json"), "absent.json")
        self.refuses(self.diff(good), "--help")
        self.refuses(self.diff(), "--help")
        self.refuses(self.diff(good, good, "--old", good), "one way")
        self.refuses(self.diff(good, self.new_file(google({"a": 1})), "--paired"), "8 launches of OLD and 1 of NEW")
        self.refuses(self.diff(good, good, "--alpha", "2"), "--alpha")


if __name__ == "__main__":
    main()
