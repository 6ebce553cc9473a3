#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""scripts/report on files of results whose numbers can be checked by eye."""
import json
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
SCRIPTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(SCRIPTS))
from measured import answers, drawings, pages, samples, trains  # noqa: E402
from measured.campaigns import campaign_of  # noqa: E402
from measured.files import BadInput, store  # noqa: E402
from measured.samples import results  # noqa: E402

PARTS = "".join(f"<!-- report: {name} -->\ntyped\n<!-- end -->\n" for name in ("picture", "decisions", "headlines"))


def report(root, *arguments):
    return subprocess.run([SCRIPTS / "report", "--root", root, "--program", samples.program(), *arguments], capture_output=True,
                          text=True, check=False)


def contrast_on_white(colour):
    """WCAG 2.2: (1 + 0.05) / (relative luminance + 0.05)."""
    parts = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 1.05 / (sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear)) + 0.05)


class Tables(unittest.TestCase):
    def test_the_fastest_valid_case_is_what_others_are_compared_with(self):
        table = pages.cases_table(results("placements", samples.PLACEMENTS)).splitlines()
        self.assertEqual(table[0], "| plan | exchange | ms [95 % interval] | samples/s | MB sent | vs best | wrong | picked |")
        self.assertIn("| column_wise | auto | 10.00 [9.000, 11.00] | 1,638,400 | 6.900 | 0.53 | 3 |  |", table)
        self.assertIn("| data_parallel+table_wise | auto | 19.00 [18.50, 19.50] | 862,316 | 6.900 | 1.00 | 0 |  |", table)
        self.assertIn("| grid | auto | 60.00 [50.00, 70.00] | 273,067 | 6.900 | 3.16 [2.56, 3.78] | 0 | stopped after round 6 |", table)

    def test_an_exchange_wins_only_with_intervals_apart(self):
        table = pages.exchanges_table(results("exchanges", samples.EXCHANGES))
        self.assertIn("| uniform | 1 KiB | 4.000 | auto | 2.00 | 0.50 | 50 % | 0 |", table)
        self.assertIn("| hot | 4 MiB | 1,000 | bruck:2 | 1.05 (within the scatter) | 1.50 | 50 % | 0 |", table)

    def test_kernels_are_medians_over_repetitions_beside_their_limit(self):
        self.assertIn("| `pooled_lookup` | 5.000 (90 %) | 5.000 (40 %) | gather |",
                      pages.kernels_table(results("kernels", samples.KERNELS)))


class Answers(unittest.TestCase):
    def test_advice_names_all_that_no_interval_tells_apart(self):
        advice, = answers.advice(results("placements", samples.PLACEMENTS))
        self.assertEqual(advice.attempt, "`--plan data_parallel+table_wise` or `--plan table_wise`")
        self.assertEqual(advice.measured, "2.11 times as fast as `row_wise`, 3.16 times as fast as `grid`")

    def test_advice_compares_with_those_alone_that_are_slower(self):
        cases = [samples.environment(), *(samples.case(plan, ms, ms - scatter, ms + scatter) for plan, ms, scatter in (
            ("row_wise", 10, 0.5), ("grid", 11, 0.1), ("table_wise", 12, 3)))]
        advice, = answers.advice(results("placements", cases))
        self.assertEqual(advice.attempt, "`--plan row_wise` or `--plan table_wise`")
        self.assertEqual(advice.measured, "1.10 times as fast as `grid`")

    def test_advice_says_auto_where_it_is_no_slower(self):
        cases = [samples.environment(), *(samples.case("row_wise", ms, ms - 1, ms + 1, transfer=name) for name, ms in (
            ("unique_rows", 10), ("auto", 11), ("dense_partials", 40)))]
        self.assertEqual(answers.advice(results("transfers", cases))[0].attempt, "`--transfer auto`")
        self.assertEqual(answers.advice(results("transfers", cases[:3])), [])

    def test_what_is_there_anyway_needs_no_advice(self):
        def of_groups(times, **more):
            return [samples.environment(), *(samples.case("table_wise", ms, ms - 1, ms + 1, options={"groups": groups}, **more)
                                             for groups, ms in times)]
        self.assertEqual(answers.advice(results("links-groups", of_groups(((8, 10), (1, 20)))))[0].attempt, "`--groups 8`")
        self.assertEqual(answers.advice(results("links-groups", of_groups(((1, 10), (8, 20))))), [])
        given_up = of_groups(((8, 10), (1, 20))) + of_groups(((4, 11),), vs_best={"rounds": 1})[1:]
        self.assertEqual(answers.advice(results("links-groups", given_up))[0].attempt, "`--groups 8`")

    def test_exchange_auto_is_advised_where_it_is_nowhere_slower(self):
        self.assertIn("auto,mpi_alltoallv", answers.advice(results("exchanges", samples.EXCHANGES))[0].attempt)
        self.assertEqual(answers.advice(results("exchanges", samples.EXCHANGES[:3]))[0].attempt, "`--exchange auto`")

    def test_headlines_are_ratios_with_what_their_intervals_allow(self):
        line, = answers.headlines(results("placements", samples.PLACEMENTS))
        self.assertEqual((line.ours, line.peer), ("data_parallel+table_wise 19.00 ms", "grid 60.00 ms"))
        self.assertEqual([round(x, 3) for x in line.ratio], [3.158, 2.564, 3.784])

    def test_a_published_ratio_is_no_time_of_a_peer(self):
        published = {"fast": "table_wise", "slow": "row_wise", "ratio": 1.6, "source": "8 GPUs"}
        line, = answers.headlines(results("hugectr", [samples.environment(published=published), *samples.PLACEMENTS[1:]]))
        self.assertEqual((line.ours, line.peer), ("data_parallel+table_wise 19.00 ms", "grid 60.00 ms"))

    def test_the_faster_peer_counts(self):
        lines = answers.headlines(results("peers", samples.PEERS))
        self.assertRegex(lines[0].claim, r"mean of the cases, \d\.\d\d \(\w\) to \d\.\d\d \(\w\)|one case")
        self.assertEqual([(line.ours, line.peer, round(line.ratio, 9)) for line in lines], [("2.828 ms", "5.657 ms", 2)])

    def test_dense_models_stand_beside_the_faster_peer(self):
        line, = answers.headlines(results("dlrm-peers", samples.DENSE_PEERS))
        self.assertEqual((line.ours, line.peer), ("20.00 ms", "24.00 ms"))

    def test_steps_stand_beside_the_tuned_peer(self):
        found = results("torchrec-peers", samples.STEP_PEERS)
        self.assertEqual([(line.ours, line.peer, round(line.ratio, 9)) for line in answers.headlines(found)],
                         [("8.000 ms", "32.00 ms", 4), ("40.00 ms", "160.0 ms", 4), ("16.00 ms", "64.00 ms", 4), ("100.0 ms", "400.0 ms", 4)])
        page = pages.section(found, {})
        self.assertIn("2 ranks of 1 thread; shardmark 0123456789ab, exchange node_shared", page)
        self.assertIn("2026-11-23, commit 0123456789ab, 2 ranks of 1 thread. Samples", page)

    def test_key_tables_stand_beside_the_fastest_map(self):
        found = results("key-tables", samples.MAPS)
        line, = answers.headlines(found)
        self.assertEqual((line.ours, line.peer, round(line.ratio, 9)), ("20.00 ns a key", "40.00 ns a key", 2))
        self.assertIn("2026-11-23, commit 0123456789ab, 1 thread. Samples", pages.section(found, {}))

    def test_limits_of_kernels_are_means_of_cases(self):
        line, = answers.headlines(results("kernels", samples.KERNELS))
        self.assertAlmostEqual(line.ratio, 0.6)


class Dynamic(unittest.TestCase):
    def test_steps_saves_and_restores_have_a_table_each(self):
        page = pages.section(results("dynamic", samples.DYNAMIC), {})
        self.assertIn("Of the keys of the timed steps 90.0 % had a row", page)
        self.assertIn("| dense | 10.00 [9.500, 10.50] | 1.00 | 9.000 (-10.0 %) | - | 0 |", page)
        self.assertIn("| dynamic | 12.00 [11.50, 12.50] | 1.20 [1.10, 1.32] | 12.60 (+5.0 %) | 124.4 / 56.40 | 0 |", page)
        self.assertIn("| all rows, training stops | 4 | 500.0 | 1.000 | 0.50 | 62 % (0.80) | 2.000 | - | - |", page)
        self.assertIn("| all rows, behind the steps | 4 | 500.0 | 0.250 | 0.12 | - | 0.500 | 25 % | 1.10 |", page)
        self.assertIn("| 3 | page cache | 500.0 | 0.500 | 1.00 | - |", page)
        self.assertIn("| 2 | disk, 10 % cached | 500.0 | 0.500 | 1.00 | 67 % (1.50) |", page)

    def test_what_was_not_measured_is_left_out(self):
        page = pages.section(results("dynamic", [*samples.DYNAMIC[:2], *samples.DYNAMIC[3:4]]), {})
        self.assertNotIn("**Steps.**", page)
        self.assertNotIn("**Restores**", page)
        self.assertEqual(answers.headlines(results("dynamic", samples.DYNAMIC[:2])), [])


class Trains(unittest.TestCase):
    def test_fbtt_stands_beside_what_was_published(self):
        table = trains.fbtt_table(results("tensor-train", samples.TRAINS)).splitlines()
        self.assertEqual(table[-3], "| uniform | 4.000 [3.800, 4.200] | 0.200 | 0.300 | 100.0 | 40.00 | 1,000 | 9,000 | 500 | 0 |")
        self.assertIn("published at 0.416 µs per lookup", table[0])

    def test_the_size_from_which_tt_wins_is_the_least_from_which_on_intervals_are_apart(self):
        text = trains.sizes_table(results("tensor-train", samples.TRAINS))
        self.assertIn("By time: `data_parallel` from 100,000 rows on, not yet at 10,000; `table_wise` at no measured size up to "
                      "1,000,000 rows.", text)
        self.assertIn("| 100,000 | data_parallel | 30.00 [28.50, 31.50] | 5.000 [4.750, 5.250] | 6.00 [5.43, 6.63] | 25.60 / 0.400 "
                      "| 6.900 / 6.900 |", text)

    def test_the_cache_stands_beside_dense_tables(self):
        text = trains.cache_table(results("tensor-train", samples.TRAINS))
        self.assertIn("10 % of 100,000 rows, Zipf 1.05 (2 ranks of 1 thread); 88 % of the lookups hit it", text)
        self.assertIn("| tt and its cache | 2.500 [2.375, 2.625] | 1.25 | 0.400 |", text)

    def test_headlines(self):
        told = [(line.ours, line.peer, round(line.ratio if isinstance(line.ratio, float) else line.ratio[0], 3))
                for name, lines in (("tensor-train", samples.TRAINS), ("tensor-train-peers", samples.TRAIN_PEERS))
                for line in answers.headlines(results(name, lines))]
        self.assertEqual(told, [("0.200 µs", "0.416 µs published, on a GPU", 2.08), ("5.000 ms", "30.00 ms", 6.0),
                                ("5.000 ms", "100.00 ms", 20.0), ("5.000 ms", "15.00 ms", 3.0)])

    def test_parts_that_are_missing_or_wrong_are_named(self):
        cases = [case for case in samples.TRAINS if case.get("part") not in ("drift", "rows10", "rows100")]
        cases[1] = {**cases[1], "wrong": 1}
        found = results("tensor-train", cases)
        self.assertTrue(pages.TABLES["trains"](found).endswith("Without a valid measurement: uniform, drift, rows1000, rows100, rows10."))
        self.assertEqual(answers.headlines(found), [])
        self.assertIsNone(trains.drawing(results("tensor-train", [samples.environment(), samples.TRAINS[1]]), ""))


class Report(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="shardmark-")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.measured = self.root / "results" / "measured"
        self.measured.mkdir(parents=True)
        (self.root / "README.md").write_text(f"# title\n{PARTS}last\n")
        (self.measured / "README.md").write_text("<!-- report: machines -->\n<!-- end -->\n")

    def add(self, name, lines, note=""):
        campaign = campaign_of(name)
        source = self.root / f"made{campaign.suffix}"
        samples.write(source, lines)
        store([("", source)], self.measured / "box-2" / (name + campaign.suffix), campaign, f"run {name}", note)

    def add_all(self):
        for name, lines in (("placements", samples.PLACEMENTS), ("exchanges", samples.EXCHANGES), ("peers", samples.PEERS),
                            ("kernels", samples.KERNELS), ("tensor-train", samples.TRAINS),
                            ("tensor-train-peers", samples.TRAIN_PEERS), ("dlrm-peers", samples.DENSE_PEERS),
                            ("torchrec-peers", samples.STEP_PEERS), ("dynamic", samples.DYNAMIC), ("key-tables", samples.MAPS)):
            self.add(name, lines)

    def run_report(self, *arguments, code=0):
        done = report(self.root, "--pictures", "off", *arguments)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done.stderr

    def test_without_files_pages_say_how_to_measure(self):
        self.run_report()
        self.assertIn("scripts/measure", (self.root / "README.md").read_text())
        self.run_report("--check")

    def test_pages_are_made_of_files_and_nothing_typed_stays(self):
        self.add_all()
        self.run_report("--check", code=1)
        self.run_report()
        self.run_report("--check")
        page = (self.root / "README.md").read_text()
        self.assertNotIn("typed", page)
        self.assertIn("results/measured/box-2/placements.svg", page)
        self.assertTrue(page.endswith("last\n"))
        machine = self.measured / "box-2" / "README.md"
        machine.write_text(machine.read_text().replace("19.00 [", "18.00 ["))
        self.assertIn("box-2/README.md is not what the files", self.run_report("--check", code=1))

    def test_without_the_program_nothing_is_written(self):
        self.add_all()
        said = self.run_report("--program", "/nonexistent", code=2)
        self.assertRegex(said, "^scripts/report: no /nonexistent, which .*\n$")
        self.assertIn("typed", (self.root / "README.md").read_text())

    def test_a_readme_that_grows_too_long_is_named(self):
        (self.root / "README.md").write_text("line\n" * 121)
        self.run_report()
        self.assertIn("121 lines", self.run_report("--check", code=1))

    def test_what_no_file_gives_is_named(self):
        self.add_all()
        self.run_report()
        (self.measured / "box-2" / "diary.md").write_text("typed")
        self.assertIn("diary.md", self.run_report("--check", code=1))

    def test_neither_hosts_nor_paths_are_stored(self):
        self.add_all()
        for path in (self.measured / "box-2").iterdir():
            self.assertNotRegex(path.read_text(), "secret|/home", path.name)
        first = json.loads((self.measured / "box-2" / "placements.jsonl").read_text().splitlines()[0])
        self.assertEqual([rank["host"] for rank in first["ranks"]], ["host1", "host1"])
        self.assertEqual(first["campaign"], {"name": "placements", "command": "run placements"})

    def test_runs_that_were_interrupted_are_not_stored(self):
        with self.assertRaisesRegex(BadInput, "interrupted by SIGUSR1"):
            self.add("placements", [samples.environment(state="interrupted by SIGUSR1"), *samples.PLACEMENTS[1:]])

    def test_bad_files_are_named_in_one_line(self):
        samples.write(self.measured / "box-2" / "placements.jsonl", [])
        done = report(self.root)
        self.assertEqual((done.returncode, len(done.stderr.splitlines())), (2, 1))
        self.assertIn("box-2/placements.jsonl", done.stderr)
        (self.root / "README.md").write_text("<!-- report: nosuch -->\n<!-- end -->\n")
        (self.measured / "box-2" / "placements.jsonl").unlink()
        self.assertIn("nosuch", report(self.root).stderr)

    def test_pictures_repeat_byte_for_byte_and_are_found_stale_without_matplotlib(self):
        if subprocess.run([SCRIPTS / "report", "--can-draw"], check=False).returncode != 0:
            self.skipTest("the environment of the pictures is not there: scripts/report makes it")
        self.add_all()
        self.assertEqual(report(self.root).returncode, 0)
        pictures = sorted((self.measured / "box-2").glob("*.svg"))
        self.assertEqual([path.stem for path in pictures], ["peers", "placements", "tensor-train"])
        first = [path.read_bytes() for path in pictures]
        self.assertEqual(report(self.root, "--pictures", "all").returncode, 0)
        self.assertEqual([path.read_bytes() for path in pictures], first)
        text = pictures[1].read_text()
        self.assertIn('<title id="title">Placements of the Criteo tables', text)
        self.assertRegex(text, "<text[^>]*>40.0 \\(2.11 x\\)</text>")
        for colour in {*re.findall("#[0-9a-f]{6}", "".join(path.read_text() for path in pictures))} - {"#ffffff", "#d0d7de"}:
            self.assertGreater(contrast_on_white(colour), 3, colour)  # all but the ground and the grid
        self.assertEqual(report(self.root, "--check").returncode, 0)
        self.add("placements", [*samples.PLACEMENTS, samples.case("other", 30, 29, 31)])
        self.assertIn("placements.svg", report(self.root, "--check", "--environment", "/nonexistent").stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
