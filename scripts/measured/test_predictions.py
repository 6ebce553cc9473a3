#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pages about predictions, of files whose numbers can be checked by eye."""
import importlib.machinery
import importlib.util
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from measured import answers, audit, goals, known_half, pages, predictions, samples  # noqa: E402
from measured.campaigns import CAMPAIGNS, campaign_of  # noqa: E402
from measured import files  # noqa: E402
from measured.files import BadInput, read  # noqa: E402
from measured.samples import results  # noqa: E402


def holdout():
    return results("holdout", [samples.environment(), *predictions.published_records(samples.PUBLISHED, "hugectr-dlrm")])


class Quality(unittest.TestCase):
    def test_among_equal_predictions_the_slowest_case_counts(self):
        for order in ((4, 5), (5, 4)):
            cases = [samples.predicted_case("w", f"p{measured}", measured, 3) for measured in order]
            quality, = predictions.qualities(results("predictions", [samples.environment(), *cases]))
            self.assertEqual((quality["regret"], order[quality["liked"]]), (0.25, 5))


class Audit(unittest.TestCase):
    def of_machine(self, note=None, links=None):
        topology = {"ddr_mem_bw": 2**30 / 100, **(links or {"intra_host_bw": 2**30 / 200})}  # bytes/ms: 10 and 5 GiB/s
        campaign = {"campaign": {"name": "predictions", "command": "", **({"note": note} if note else {})}}
        return audit.settings(results("predictions", [samples.environment(**campaign), *samples.PREDICTIONS[1:3]]), topology)

    def test_peers_have_the_speeds_of_the_machine(self):
        self.assertEqual(self.of_machine(), ["--torchrec", "device=cpu:ddr=10:intra=5", "--hugectr_auto", "ratio=2"])
        self.assertEqual(self.of_machine("4 hosts, links of 1 Gbit/s"),
                         ["--torchrec", "device=cpu:ddr=10:inter=0.1164", "--hugectr_auto", "ratio=85.9"])
        self.assertEqual(self.of_machine("4 hosts of one rank, links of 1 Gbit/s", {"inter_host_bw": 2**30 / 1000}),
                         ["--torchrec", "device=cpu:ddr=10:inter=1", "--hugectr_auto", "ratio=10"])

    def test_a_machine_file_beside_the_results_tells_them(self):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "predictions.jsonl"
            samples.write(file, samples.PREDICTIONS)
            found = read(campaign_of("predictions"), file, samples.program())
            self.assertIsNone(audit.topology_of(found, samples.program()))
            stored = next(Path(__file__).resolve().parents[2].glob("results/measured/*/*-machine.json"))
            files.machine_beside(file).write_text(stored.read_text(encoding="utf-8"), encoding="utf-8")
            topology = audit.topology_of(found, samples.program())
        speeds = json.loads(stored.read_text(encoding="utf-8"))["bytes_per_second"]
        self.assertAlmostEqual(topology["ddr_mem_bw"], speeds["gather"] / 1e3, delta=1e-3)

    def test_without_these_they_have_their_usual_ones(self):
        self.assertEqual(audit.settings(results("predictions", samples.PREDICTIONS), None), [])

    def test_the_program_rates_the_plans_of_each_campaign(self):
        folder = tempfile.TemporaryDirectory(prefix="shardmark-")
        self.addCleanup(folder.cleanup)
        file = Path(folder.name) / "predictions.jsonl"
        cases = [samples.predicted_case("criteo-kaggle", plan, *times) for plan, *times in (
            ("table_wise", 10, 11), ("row_wise", 20, 18), ("column_wise", 15, 15))]
        samples.write(file, [samples.environment(campaign={"name": "predictions", "command": ""}), *cases])
        found = read(campaign_of("predictions"), file, samples.program())
        text = audit.table([("box", found)], samples.program(), file.parent)
        self.assertTrue(text.startswith("2 ranks (box):\n\n| workload | plans | ours: MAPE |"), text)
        self.assertIn("| criteo-kaggle | 3 of 3 | 6.7 % | 1.00 | 0.0 % |", text)
        self.assertIsNone(audit.table([], samples.program(), file.parent))


class Predictions(unittest.TestCase):
    def setUp(self):
        self.results = results("predictions", samples.PREDICTIONS)

    def test_each_workload_has_its_quality_and_search_beside_the_others(self):
        table = predictions.predictions_table(self.results).splitlines()
        self.assertIn("| criteo-kaggle | 4 | `search` 10.00 | 10.0 % | 0.80 | 20.0 % | `lookup_greedy:a=1` | 1.20 [1.18, 1.22] "
                      "(`lookup_greedy:a=1`) | 2.00 [1.96, 2.04] (`row_wise`) | - |", table)
        self.assertIn("| synthetic-tiny | 2 | `table_wise` 10.00 | 1.0 % | 1.00 | 0.0 % | `table_wise` | 0.97 [0.95, 0.99] "
                      "(`table_wise`) | 0.97 [0.95, 0.99] (`table_wise`) | - |", table)

    def test_calibrations_before_each_workload_tell_how_the_machine_drifts(self):
        self.assertFalse(any("drift" in what for what, _ in predictions.summary(self.results, predictions.memory_speeds(self.results))))
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "predictions.jsonl"
            samples.write(file, samples.PREDICTIONS)
            for part, gather in (("criteo-kaggle", 10e9), ("synthetic-tiny", 12.5e9)):
                files.machine_beside(file, part).write_text(json.dumps(
                    {"bytes_per_second": {"stream": 1e9, "gather": gather, "update": 20e9},
                     **({"calibration": {"steps_after": 0.9}} if part == "criteo-kaggle" else {})}))
            text = predictions.predictions_table(read(campaign_of("predictions"), file, samples.program()))
        self.assertIn("| drift of the machine: fastest over slowest memory of its calibrations, one before each workload | 1.25 |", text)
        self.assertIn("beside those of the one before | 0.90 times as long (`criteo-kaggle`) |", text)
        self.assertRegex(text, r"(?m)^\| criteo-kaggle \| .* \| 10\.00 / 20\.00 \|$")
        self.assertRegex(text, r"(?m)^\| synthetic-tiny \| .* \| 12\.50 / 20\.00 \|$")

    def test_all_workloads_are_summed_up(self):
        rows = dict(predictions.summary(self.results, predictions.memory_speeds(self.results)))
        self.assertEqual(rows["mean error of all predictions (MAPE)"], "7.0 %")
        self.assertEqual(rows["rank correlation (Spearman), mean of the workloads"], "0.90, least 0.80")
        self.assertEqual(rows["most regret of a workload"], "20.0 %")
        self.assertEqual(rows["`search` behind the best other planner, at worst"], "+3.0 %")
        self.assertIn("| most regret of a workload | 20.0 % |", predictions.predictions_table(self.results))
        self.assertIn("6 cases of 2 workloads on 2 ranks (box): 7.0 % off on average; the plan that was liked best was at most 20.0 % slower",
                      pages.holdout([("box", self.results)]))

    def test_cases_and_phases_stand_beside_their_predictions(self):
        text = predictions.predictions_table(self.results)
        self.assertIn("| `lookup_greedy:a=1` | 12.00 [11.88, 12.12] | 9.000 | -25.0 % |  |", text)
        self.assertIn("| phase of `search` | measured, ms | predicted | least |", text)
        self.assertIn("| lookup | 5.000 | 3.333 | 1.250 |", text)
        self.assertIn("| update | 2.500 | - | - |", text)
        self.assertNotIn("torchrec", text)  # wrong values
        self.assertTrue(text.endswith("Without a valid measurement: hugectr-dlrm, deeprec-dlrm, dlrm-dcnv2, criteo-terabyte."))

    def test_cases_without_predictions_are_still_compared(self):
        cases = [{**record, "predicted_ms": None} for record in samples.PREDICTIONS[1:5]]
        found = results("predictions", [samples.environment(), *cases])
        self.assertIn("| criteo-kaggle | 4 | `search` 10.00 | - | - | - | - |", predictions.predictions_table(found))
        self.assertEqual(len(predictions.summary(found, predictions.memory_speeds(found))), 2)

    def test_advice_is_the_plan_least_behind_the_best_of_each_workload(self):
        advice, = answers.advice(self.results)
        self.assertEqual(advice.attempt, "`--plan search`")
        self.assertEqual(advice.measured, "on average 1.01 of the time of the fastest of 1 plans for each of 2 workloads, at worst 1.03")
        self.assertIn(advice.situation, pages.decisions([("box", self.results)]))

    def test_goals_name_what_is_furthest_off(self):
        with tempfile.TemporaryDirectory() as folder:
            table = goals.table([("box", self.results), ("box", holdout())], Path(folder))
            self.assertIsNone(goals.table([], Path(folder)))
        self.assertIn("| MAPE, 2 ranks, box | ≤ 8.0 % | 7.0 % | yes |  |", table)
        self.assertIn("| Spearman, mean and least, 2 ranks, box | ≥ 0.97, ≥ 0.90 | 0.90, 0.80 | no | criteo-kaggle 0.80, synthetic-tiny 1.00 |", table)
        self.assertIn("| regret of the plan liked best, 2 ranks, box | ≤ 3 % | 20.0 % | no | criteo-kaggle |", table)
        self.assertIn("| `search` behind the best other plan, 2 ranks, box | ≤ 2 % | +3.0 % | no | synthetic-tiny |", table)
        # Lookups take half of a step, and a third of it was predicted.
        self.assertEqual({name: round(share, 3) for name, share in predictions.missed_phases(self.results).items()}, {"lookup": 0.167})

    def test_plans_of_large_clusters_have_goals_of_their_own(self):
        text = "x\nshardmark: search: predicted 210.5 ms; no plan of these options takes less than 200.000 ms (gap 5.2 %); basic was the best"
        lines = [{**record, "part": part} for part, told in (("search", text), ("predict", "y")) for record in
                 predictions.scale_records(told, part, {"seconds": 50.0, "peak_bytes": 1_500_000_000})]
        found = results("scale", [samples.environment(), *lines])
        with tempfile.TemporaryDirectory() as folder:
            table = goals.table([("box", found)], Path(folder))
        self.assertIn("| search, Colossal on 4,096 ranks, box: seconds, gap to the bound | ≤ 60 s, ≤ 5 % | 50 s, 5.2 % | no |  |", table)
        self.assertIn("| predict, three plans of the same: seconds, memory | ≤ 5 s, ≤ 2 GB | 50.0 s, 1.50 GB | no |  |", table)
        self.assertIn("| search | 50.00 | 1.500 | 210.5 | 200.0 | 5.2 % |  |", predictions.scale_table(found))
        self.assertIn("2026-11-23, commit 0123456789ab, one process. Samples", pages.section(found, {}))
        with self.assertRaisesRegex(BadInput, "search: not what"):
            predictions.scale_records("y", "search", {})

    def test_tables_that_do_not_know_their_size_have_goals(self):
        told = [("box", results(name, lines)) for name, lines in (
            ("dynamic", samples.DYNAMIC), ("key-tables", samples.MAPS), ("torchrec-peers", samples.STEP_PEERS), ("predictions", samples.PREDICTIONS))]
        table = goals.stores_table(told)
        self.assertIsNone(goals.stores_table(told[3:]))
        for line in ("| step of known keys / dense, 2 ranks, box | ≤ 1.10 | 1.20 [",
                     "| prediction of that step, 2 ranks, box | within 15 % | +5.0 % | yes |  |",
                     "| restore on 3 ranks / on the 2 that saved, box | ≤ 1.2 | 2.00 | no | 3 ranks share 2 cores |",
                     "| find: the fastest hash map / ours, tuned, box | ≥ 2 | 2.00 | yes |  |",
                     "| growing insert: the fastest hash map / ours, tuned, box | ≥ 1.5 | 2.00 | yes |  |",
                     "| TorchRec's sorted ZCH / ours, tuned, least of the cases, box | ≥ 8 | 4.00 | no | table_wise, 16,384 |"):
            self.assertIn(line, table)

    def test_the_newest_of_each_campaign_tells_and_predictions_of_each_machine(self):
        older = results("predictions", [samples.environment(time="2026-11-22T08:00:00Z"), *samples.PREDICTIONS[1:]])
        told = pages.newest({"b": [older, holdout()], "a": [self.results, holdout()]})
        self.assertEqual([(machine, each.campaign.name) for machine, each in told], [("a", "predictions"), ("b", "predictions"), ("b", "holdout")])
        once, twice = (predictions.usual_errors(told[first:2])["one_node"] for first in (1, 0))
        self.assertEqual(twice, {**once, "cases": 2 * once["cases"]})

    def test_the_readme_says_more_than_a_headline(self):
        self.assertEqual(answers.headlines(self.results), [])

    def test_workloads_and_plans_are_as_many_as_were_promised(self):
        for name in ("predictions", "links-predictions"):
            parts = campaign_of(name).parts
            self.assertGreaterEqual(len(parts), 5)
            for part in parts:
                plans = part.command[part.command.index("--plan") + 1].split(",")
                self.assertEqual(len(set(plans)), 21)
                self.assertTrue(part.when)
        self.assertTrue(all(campaign.first for campaign in CAMPAIGNS if campaign.kind == "predictions"))


class OtherOptions(unittest.TestCase):
    def test_each_kind_of_cases_has_its_error_and_each_case_its_options(self):
        def case(part, plan, measured, predicted, **more):
            return {**samples.predicted_case("criteo-kaggle", plan, measured, predicted, **more), "part": part}
        cases = [case("wires", "row_wise", 10, 11, wire="fp16"), case("wires", "table_wise", 10, 8, wire="fp16"), case("keys", "row_wise", 10, 10)]
        for each in cases[:2]:
            each["changed"] = ["wire_forward", "scale"]
        table = predictions.options_table(results("option-predictions", [samples.environment(), *cases])).splitlines()
        self.assertIn("| wires | vectors and gradients are narrow | 2 | 15.0 % |", table)
        self.assertIn("| all |  | 3 | 10.0 % |", table)
        self.assertIn("| wires | criteo-kaggle | `row_wise` | auto, wire_forward fp16 | 10.00 [9.900, 10.10] | 11.00 | +10.0 % |", table)
        self.assertFalse(any(line.startswith("| groups") for line in table))
        self.assertEqual(predictions.trust_options("box", results("option-predictions", [samples.environment(), *cases])),
                         "3 cases of 2 other kinds of options on 2 ranks (box): 10.0 % off on average; furthest wires, 15.0 %.")

    def test_without_predictions_there_is_no_table(self):
        case = {**samples.predicted_case("criteo-kaggle", "row_wise", 10, None), "part": "keys"}
        self.assertEqual(predictions.options_table(results("option-predictions", [samples.environment(), case])), "Without a valid measurement.")
        self.assertIsNone(predictions.trust_options("box", results("option-predictions", [samples.environment(), case])))


class Holdout(unittest.TestCase):
    def test_every_published_step_is_told_misses_included(self):
        text = predictions.holdout_table(holdout())
        self.assertIn("| hugectr-dlrm | dgx-1-v100 | 8 | `slow` | 190.8 | 200.0 | +4.8 % (chosen) | 150.0 (75 %) |", text)
        self.assertIn("| hugectr-dlrm | dgx-1-v100 | 8 | `fast` | 103.5 | 70.00 | -32.3 % (missed) | 60.00 (86 %) |", text)
        self.assertIn("Within 25.0 %: 0 of 1", text)
        self.assertIn("`slow` / `fast`: published 1.845, predicted 2.857 (+54.9 %).", text)

    def test_what_is_no_table_is_named(self):
        with self.assertRaisesRegex(BadInput, "hugectr-dlrm --published"):
            predictions.published_records("# a\nmachine ranks\nx 8\n# b\n", "hugectr-dlrm")

    def test_the_readme_has_a_row_for_each_workload(self):
        text = pages.holdout([("box", holdout())])
        self.assertIn("| hugectr-dlrm (dgx-1-v100) | `slow` / `fast` | 190.8 / 103.5 | 200.0 / 70.00 | chosen / -32.3 % |", text)
        self.assertIn("Within 25.0 %: 0 of 1", text)
        self.assertIsNone(pages.holdout([]))
        self.assertEqual(answers.headlines(holdout()), [])


class KnownHalf(unittest.TestCase):
    def test_each_device_stands_with_its_steps_left_out_and_known(self):
        page = """# x
  criteo-terabyte-40m  CPU 8380H  8  2  32768  table_wise  40.0  42.00  +5.0  PyTorch 1.6
  dlrm-dcnv2  A100  64  8  135168  hugectr_auto:ratio=7  1.0e+03  500.0  -50.0 (does not fit)  a
  dlrm-dcnv2  A100  8  1  135168  hugectr_auto:ratio=7  10.0  11.00  +10.0
# group       steps counted MAPE % Spearman % within 25 % signs right
  CPU 8380H       1       1    5.0        -         100.0           -
  all             3       3   21.7     1.00          66.7      0 of 1
# counted: x
"""
        fit = load_script("fit-software")
        self.assertEqual(fit.errors_of(page), [0.05, -0.5, 0.1])
        quality = fit.quality_of(page)
        self.assertEqual(quality["all"], {"steps": 3, "mape_percent": 21.7, "spearman": 1.0, "within_percent": 66.7, "signs": "0 of 1"})
        steps = [{"group": "A100", "ranks": ranks, "ms": 1000.0, "errors": {"as_they_stand": error}} for ranks, error in ((64, -0.5), (8, 0.1))]
        found = {"notice": "not verified", **dict.fromkeys(("as_they_stand", "left_out", "fitted"), quality), "steps": steps}
        with tempfile.TemporaryDirectory() as folder:
            self.assertIsNone(known_half.table(Path(folder)))
            (file := Path(folder) / "results/measured/known_half.json").parent.mkdir(parents=True)
            file.write_text(json.dumps(found), encoding="utf-8")
            self.assertEqual(known_half.usual_error(Path(folder)), {"of_parts": {"cases": 3, "mean_error": 0.217}})
            table, sentence = known_half.table(Path(folder)), known_half.sentence(Path(folder))
        self.assertIn("| CPU 8380H | 1 | 5.0 % | 100 % | - | - | 5.0 % | 5.0 % |", table)
        self.assertIn("Off by more than 25 %: A100, 64 ranks, 1000 ms: -50 %.", table)
        self.assertTrue(sentence.startswith("3 published steps of 1 devices"), sentence)
        self.assertIn("21.7 % off on average, 67 % within 25 %, the worst 50 %, 0 of 1 signs right", " ".join(sentence.split()))

    def test_constants_stand_in_the_software_that_shares_them(self):
        fit = load_script("fit-software")
        files = fit.software_with({"launch": 1.0, "cpu_links_inside": 0.125})
        self.assertEqual([name for name, file in files.items() if file["launch"]["seconds"] == 1.0], ["hugectr-mlperf-2020", "pytorch-mlperf-2020"])
        self.assertEqual(files["pytorch-mlperf-cpu"]["links"]["inside"]["share"], 0.125)


def load_script(name):
    loader = importlib.machinery.SourceFileLoader(name.replace("-", "_"), str(Path(__file__).resolve().parents[1] / name))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


if __name__ == "__main__":
    unittest.main(verbosity=2)
