#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`exchange`: what it prints and writes on 1, 2 and 3 ranks; wrong bytes; bad input."""
import concurrent.futures
import re

from program import ProgramTest, main, records

QUICK = ["--seconds", "0.001"]
SKEWS = ["uniform", "zipf", "hot", "banded"]
LINE = re.compile(r"(?m)^(\w+) +(\d+(?:[KMG]i?B)?)  (\S+) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +(\d+|-) +(\d+)$")


class Exchange(ProgramTest):
    def test_every_size_skew_and_exchange_on_1_2_and_3_ranks(self):
        for ranks in (1, 2, 3):
            with self.subTest(ranks=ranks):
                file = self.new_path(".jsonl")
                outcome = self.succeeds(self.launch(ranks, "exchange", "--bytes", "1:4KiB:64", "--skew", "all", "--exchange",
                                                    "mpi_alltoallv,linear,pairwise", *QUICK, "--out", file))
                lines = LINE.findall(outcome.out)
                wanted = {(skew, size, name) for skew in SKEWS for size in ("1", "64", "4KiB")
                          for name in ("mpi_alltoallv", "linear", "pairwise")}
                self.assertEqual({line[:3] for line in lines}, wanted)
                self.assertEqual(len(lines), len(wanted))
                self.assertEqual({line[4] for line in lines}, {"0"})
                self.assertEqual(outcome.last_line(), "RESULT: VALID")
                environment, *written = records(file)
                self.assertEqual(len(environment["ranks"]), ranks)
                self.assertEqual({(each["skew"], each["exchange"]) for each in written},
                                 {(skew, name) for skew, _, name in wanted})
                for each in written:
                    time = each["time_ms"]
                    self.assertTrue(0 < time["min"] <= time["median"] <= time["p99"], each)
                    self.assertEqual(time["n"], len(time["samples"]))
                    self.assertGreaterEqual(each["busiest_bytes"], each["bytes"])

    def test_all_exchanges_carry_every_skew(self):
        outcome = self.succeeds(self.launch(3, "exchange", "--bytes", "3001", "--skew", "all", *QUICK))
        names = {line[2] for line in LINE.findall(outcome.out)}
        self.assertLessEqual({"mpi_alltoallv", "linear", "pairwise"}, names)
        self.assertIn("# findings", outcome.out)

    def test_replays_a_matrix_and_takes_the_first_ranks_of_a_larger_one(self):
        matrix = self.new_file("0 100 7\n900 50 7\n7 7 7\n", ".txt")
        file = self.new_path(".jsonl")
        self.succeeds(self.launch(2, "exchange", "--matrix", matrix, "--exchange", "pairwise", *QUICK, "--out", file))
        written = records(file)[1]
        self.assertEqual((written["skew"], written["bytes"], written["busiest_bytes"]), ("matrix", 525, 950))
        self.refuses(self.launch(4, "exchange", "--matrix", matrix, *QUICK), str(matrix), "3 ranks for 4 ranks")

    def test_replays_the_traffic_of_a_step(self):
        traffic = self.new_path(".txt")
        outcome, results = self.case(3, plan="row_wise", traffic=traffic)
        self.succeeds(outcome)
        read = {path.name.removeprefix(traffic.name): [[int(cell) for cell in line.split()]
                                                       for line in path.read_text().splitlines()]
                for path in traffic.parent.glob(traffic.name + "*")}
        phases = [".input_dist", ".output_dist", ".grad_dist", ".update"]
        self.assertEqual(sorted(read), sorted(["", *phases]))
        case = records(results)[1]
        for phase in phases:
            self.assertEqual(max(map(sum, read[phase])), case["phases"][phase[1:]]["bytes"])
        for i in range(3):
            self.assertEqual(read[""][i][i], 0)
            for j in range(3):
                self.assertEqual(read[""][i][j], sum(read[phase][i][j] for phase in phases))
                self.assertEqual(read[".output_dist"][i][j], read[".grad_dist"][j][i])
        file = self.new_path(".jsonl")
        self.succeeds(self.launch(3, "exchange", "--matrix", traffic, "--exchange", "linear", *QUICK, "--out", file))
        self.assertEqual(records(file)[1]["busiest_bytes"], max(*map(sum, read[""]), *map(sum, zip(*read[""]))))

    def test_a_flipped_bit_is_found(self):
        outcome = self.launch(2, "exchange", "--bytes", "64", "--exchange", "linear", "--set", "fault=exchange", *QUICK)
        self.assertEqual(outcome.code, 1, outcome.out + outcome.err)
        self.assertEqual(outcome.last_line(), "RESULT: INVALID (2 wrong bytes)")

    def test_refuses_bad_input(self):
        bad = self.new_file("1 2\n3\n", ".txt")
        bad_input = [
            (["--bytes", "4K:1K"], "--bytes 4K:1K"),
            (["--skew", "odd"], "unknown skew 'odd'", "uniform, zipf, hot, banded"),
            (["--exchange", "odd"], "unknown exchange 'odd'"),
            (["--matrix", bad], f"{bad}:2:", "square"),
            (["--matrix", bad, "--bytes", "1K"], "--bytes excludes --matrix"),
            (["--set", "dim=4"], "--set dim=4", "seed and fault"),
            (["--seconds", "0"], "--seconds"),
            (["--bytes", "1000G"], "use smaller --bytes"),
            (["--out", "/proc/none.jsonl", "--exchange", "linear"], "/proc/none.jsonl"),
        ]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            outcomes = list(pool.map(lambda each: self.launch(2, "exchange", *each[0]), bad_input))
        for (arguments, *texts), outcome in zip(bad_input, outcomes):
            with self.subTest(arguments=arguments):
                self.refuses(outcome, *texts)


if __name__ == "__main__":
    main()
