#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""check-regression on a repository of its own, whose benchmark program prints times instead of measuring them.

SHARDMARK is the program that compares."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parent
CMAKE = """cmake_minimum_required(VERSION 3.25)
project(stand_in NONE)
set(FACTOR 1 CACHE STRING "of the times")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bin)
file(CONFIGURE OUTPUT bin/shardmark-kernels @ONLY CONTENT [[#!%s
%s]])
file(CHMOD ${PROJECT_BINARY_DIR}/bin/shardmark-kernels PERMISSIONS OWNER_READ OWNER_EXECUTE)
add_custom_target(shardmark-kernels)
"""
PROGRAM = """
import json, os, random, sys
options = dict(argument.split("=", 1) for argument in sys.argv[1:] if "=" in argument)
if "--fail" in sys.argv:
    sys.exit(5)
if "--benchmark_list_tests=true" in sys.argv:
    print("lookup/a\\nupdate/a")
    sys.exit()
random.seed(os.getpid())
rows = [{"name": name, "real_time": 9, "median_us": ms * 1000 * random.uniform(0.998, 1.002), "huge_pages_%%": float("nan")}
        for name, ms in (("lookup/a", %s * @FACTOR@), ("update/a", 7)) if options.get("--benchmark_filter", "") in name]
with open(options["--benchmark_out"], "x") as file:
    json.dump({"context": {"host_name": "node1", "executable": sys.argv[0], "arguments": sys.argv[1:]}, "benchmarks": rows}, file)
"""


def workflow_command(name):
    """The command of the step that compares, as docs/examples has it."""
    text = (SCRIPTS.parent / "docs/examples" / name).read_text()
    return re.search(r"(?m)^ *run: >-\n((?: {10}.*\n)+)", text)[1].replace("\n", " ")


class CheckRegression(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="shardmark-")
        cls.addClassCleanup(folder.cleanup)
        cls.root = Path(folder.name)
        (cls.root / "scripts").mkdir()
        shutil.copy(SCRIPTS / "check-regression", cls.root / "scripts")
        cls.git("init", "--quiet", "--initial-branch=main")
        cls.commit("empty", "project(stand_in NONE)\n")
        cls.commit("first", CMAKE % (sys.executable, PROGRAM % "10"))
        cls.commit("slower", CMAKE % (sys.executable, PROGRAM % "10.5"))
        cls.commit("broken", "shardmark-kernels(\n")

    @classmethod
    def git(cls, *arguments):
        identity = ["-c", "user.name=Test", "-c", "user.email=test@localhost", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", "-C", cls.root, *identity, *arguments], check=True)

    @classmethod
    def commit(cls, tag, cmake):
        (cls.root / "CMakeLists.txt").write_text(cmake)
        cls.git("add", "CMakeLists.txt")
        cls.git("commit", "--quiet", "--message", tag)
        cls.git("tag", tag)

    def check(self, *arguments, code):
        done = subprocess.run([self.root / "scripts/check-regression", *map(str, arguments)], capture_output=True,
                              text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def says(self, text, *arguments, code):
        lines = [line for line in self.check(*arguments, code=code).stderr.splitlines() if "building" not in line]
        self.assertRegex(lines[-1], text)

    def launches(self, out, side):
        return [json.loads(file.read_text()) for file in sorted((self.root / out / side).glob("*.json"))]

    def test_a_slower_commit_is_worse(self):
        done = self.check("first", "slower", "--launches", 8, "--out", self.root / "worse", code=1)
        self.assertRegex(done.stdout, r"\| lookup/a .*\*\*worse\*\* \|\n\| update/a .* same \|\n")
        self.assertIn("in pairs", done.stdout)
        self.assertRegex(done.stderr, "16 of 16 launches, 0.0 min left")
        self.assertEqual([len(self.launches("worse", side)) for side in ("old", "new")], [8, 8])

    def test_a_commit_against_itself_is_not_worse(self):
        self.assertIn("RESULT: NOT WORSE", self.check("first", "first", "--launches", 8, code=0).stdout)

    def test_says_how_long_it_takes_before_it_starts(self):
        lines = self.check("first", "first", "--launches", 8, code=0).stderr.splitlines()
        said = [number for number, line in enumerate(lines) if "2 cases in 16 launches: about 0.3 min" in line]
        self.assertEqual(len(said), 1, lines)
        longer = self.check("first", "first", "--launches", 8, "--", "--benchmark_min_time=1", code=0).stderr
        self.assertIn("2 cases in 16 launches: about 3.2 min", longer)
        self.assertLess(said[0], min(number for number, line in enumerate(lines) if "of 16 launches, " in line))

    def test_a_gate_is_red_where_nothing_can_be_shown(self):
        self.check("first", "slower", "--launches", 1, code=0)
        self.check("first", "slower", "--launches", 1, "--strict", code=1)
        self.check("first", "slower", "--launches", 1, "--fail-above", "4%", code=1)
        self.check("first", "slower", "--launches", 1, "--fail-above", "8%", code=0)

    def test_options_of_the_build_can_differ(self):
        done = self.check("first", "first", "--launches", 8, "--head-option=-DFACTOR=1.05", code=1)
        self.assertIn("**worse**", done.stdout)

    def test_cases_and_options_of_the_program_are_chosen(self):
        self.check("first", "slower", "--launches", 6, "--filter", "update", "--out", self.root / "chosen", "--",
                   "--scale=1/4", code=0)
        for side in ("old", "new"):
            for launch in self.launches("chosen", side):
                self.assertIn("--scale=1/4", launch["context"]["arguments"])
                self.assertEqual([row["name"] for row in launch["benchmarks"]], ["update/a"])

    def test_the_order_in_pairs_is_drawn_from_the_seed(self):
        def order(out):
            files = [(file.stat().st_mtime_ns, file.parent.name) for file in (self.root / out).glob("*/*.json")]
            return [side for _, side in sorted(files)]

        for out, seed in (("order1", 5), ("order2", 5), ("order3", 6)):
            self.check("first", "first", "--launches", 8, "--seed", seed, "--out", self.root / out, code=0)
            self.assertEqual(json.loads((self.root / out / "schedule.txt").read_text())["seed"], seed)
            self.assertTrue(all(set(order(out)[i:i + 2]) == {"old", "new"} for i in range(0, 16, 2)))
        self.assertEqual(order("order1"), order("order2"))
        self.assertNotEqual(order("order1"), order("order3"))

    def test_launches_of_one_commit_are_a_baseline(self):
        recorded = self.check("first", "--launches", 6, "--out", self.root / "baseline", code=0)
        self.assertRegex(recorded.stderr, r"this baseline of 6 launches can show changes above \d\.\d % only")
        for launch in self.launches("baseline", ""):
            self.assertEqual([row["name"] for row in launch["benchmarks"]], ["lookup/a", "update/a"])
            self.assertEqual(launch["context"].keys(), {"arguments"})  # neither the machine's name nor its paths
        self.assertEqual({file.name for file in (self.root / "baseline").iterdir()},
                         {"schedule.txt", *(f"{number:03}.json" for number in range(1, 7))})
        done = self.check("first", "slower", "--launches", 8, "--aa", self.root / "baseline", code=1)
        self.assertIn("floors from 6 A/A launches", done.stdout)
        self.says("is not empty", "first", "--launches", 6, "--out", self.root / "baseline", code=2)

    def test_a_commit_without_the_program_is_not_comparable(self):
        self.says(r"empty \([0-9a-f]{12}\) has no shardmark-kernels yet", "empty", "first", code=3)

    def test_a_commit_that_does_not_build_is_not_comparable(self):
        self.says("cmake .* failed; the whole log is .*/log", "first", "broken", code=3)

    def test_a_program_that_is_built_already_is_not_built(self):
        self.check("first", "--launches", 1, "--out", self.root / "built", code=0)
        commit, = json.loads((self.root / "built/schedule.txt").read_text())["commits"]
        program = self.root / "build/check-regression" / commit[:12] / "build/bin/shardmark-kernels"
        done = self.check("first", program, "--launches", 8, "--out", self.root / "program", code=0)
        self.assertNotIn(f"building {program}", done.stderr)
        self.assertEqual(json.loads((self.root / "program/schedule.txt").read_text())["commits"], [commit, str(program)])

    def test_a_shallow_checkout_fetches_the_commit_that_it_lacks(self):
        shallow = self.root / "shallow"
        for branch, tag in (("base", "first"), ("change", "slower")):
            self.git("branch", "--force", branch, tag)
        subprocess.run(["git", "clone", "--quiet", "--depth=1", "--branch=change", f"file://{self.root}", shallow], check=True)
        shutil.copytree(self.root / "scripts", shallow / "scripts")
        self.assertEqual(subprocess.run(["git", "-C", shallow, "rev-list", "--count", "HEAD"], capture_output=True, text=True,
                                        check=True).stdout, "1\n")
        command = workflow_command("kernels.yml").replace("scripts/check-regression", str(shallow / "scripts/check-regression"))
        environment = {**os.environ, "GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "base", "GITHUB_WORKSPACE": str(shallow)}
        done = subprocess.run(["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", command], cwd=shallow, env=environment,
                              capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("fetching base from origin", done.stderr)
        self.assertRegex(done.stdout, r"(?m)^::error title=lookup/a::")
        done = subprocess.run([shallow / "scripts/check-regression", "nosuch", "HEAD"], cwd=shallow, capture_output=True, text=True,
                              timeout=60, check=False)
        self.assertEqual(done.returncode, 2)
        self.assertRegex(done.stderr, "nosuch is no commit of .*, nor of its origin: ")

    def test_a_name_that_is_no_commit_is_bad_input(self):
        self.says("nosuch is no commit", "nosuch", "first", code=2)

    def test_a_launch_that_fails_ends_the_comparison(self):
        self.says("ended with 5; its output is in", "first", "first", "--", "--fail", code=4)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main(verbosity=2)
