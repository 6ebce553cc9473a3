#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`doctor`: one page on one rank and on several, of what is really there; bad input."""
import re

from program import ProgramTest, main


class Doctor(ProgramTest):
    def page(self, ranks):
        out = self.succeeds(self.launch(ranks, "doctor")).out
        lines = out.splitlines()
        self.assertLessEqual(len(lines), 40, out)
        self.assertLessEqual(max(map(len, lines)), 120, out)
        for label in ("shardmark", "machine", "memory", "ranks", "MPI", "GPU", "ceilings"):
            self.assertRegex(out, rf"(?m)^{label} +\S")
        self.assertRegex(out, r"\n(What to change to be faster.*:\n +1\. \S|Nothing to change was found\.\n)")
        return re.sub(r"\n +", " ", out)

    def test_one_rank_has_a_page_of_its_own_and_writes_nothing(self):
        page = self.page(1)
        self.assertIn("1 on 1 node", page)
        self.assertRegex(page, r"stream triad \d+\.\d\d GB/s, random rows of 64 floats \d+\.\d\d GB/s")
        self.assertIn("links need two ranks", page)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_several_ranks_measure_their_links(self):
        page = self.page(2)
        self.assertRegex(page, r"ping-pong inside a node: [\d.]+ us, [\d.]+ GB/s; all-to-all of 1024 KB per rank: \d+ us")
        self.assertRegex(page, r"ranks of a node (can|cannot) read each other's memory")

    def test_it_takes_no_arguments(self):
        self.refuses_serial(["doctor", "now"], "now", "see shardmark doctor --help")


if __name__ == "__main__":
    main()
