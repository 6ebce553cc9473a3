#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""setup keeps a Kokkos that links and builds one that does not anew. What would change the machine or reach the network
(apt-get, curl, a virtual environment) is a stand-in that fails."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHON = f"""#!/bin/sh
case "$*" in *venv*) exit 1;; esac
exec {sys.executable} "$@"
"""


@unittest.skipUnless((ROOT / ".deps/kokkos/lib/libkokkoscore.a").exists(), "Kokkos comes from elsewhere")
class Setup(unittest.TestCase):
    def test_a_kokkos_that_does_not_link_is_not_kept(self):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            shutil.copytree(ROOT / "scripts", folder / "scripts")
            shutil.copytree(ROOT / ".deps/kokkos", folder / ".deps/kokkos")
            (folder / "bin").mkdir()
            for tool, text in (("apt-get", "exit 1"), ("sudo", "exit 1"), ("curl", "exit 1"), ("python3", PYTHON)):
                (folder / "bin" / tool).write_text(text if tool == "python3" else f"#!/bin/sh\n{text}\n")
                (folder / "bin" / tool).chmod(0o755)
            self.assertEqual(self.setup(folder).returncode, 0)
            library = folder / ".deps/kokkos/lib/libkokkoscore.a"
            os.truncate(library, 1000)
            done = self.setup(folder)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(".deps/kokkos is there but cannot be used", done.stderr)
            self.assertIn("no source of Kokkos can be reached", done.stderr)
            library.unlink()  # its CMake package then refuses to be read
            self.assertIn(".deps/kokkos is there but cannot be used", self.setup(folder).stderr)

    @staticmethod
    def setup(folder):
        return subprocess.run([folder / "scripts/setup"], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}"})


if __name__ == "__main__":
    unittest.main(verbosity=2)
