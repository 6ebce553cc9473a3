#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchrec_step.py FILE.h5 FILE.npz: what torchrec_check.py needs of a step that `shardmark run --export FILE.h5` wrote, for a
Python without HDF5. Prints as JSON how many rows the tables have, and the names of the dense model's blocks."""
import json
import sys

import h5py
import numpy


def main(exported, out):
    with h5py.File(exported) as file:
        arrays = {}
        for name, feature in file["features"].items():
            arrays |= {f"ids/{name}": feature["indices"][...], f"outputs/{name}": file["outputs"][name][...],
                       f"gradients/{name}": file["gradients"][name][...]}
        for name, table in file["tables"].items():
            arrays |= {f"{what}/{name}": table[what][...] for what in ("rows", "before", "after")}
        rows = {name: int(table.attrs["rows"]) for name, table in file["tables"].items()}
        blocks = []
        if "dense" in file:
            dense = file["dense"]
            arrays |= {what: dense[what][...] for what in ("numerical", "labels")}
            arrays["loss"] = numpy.float64(json.loads(dense.attrs["outcome"])["loss"])
            blocks = sorted(dense["parameters"], key=lambda name: (name.split(".")[:2], name.endswith("bias")))
            arrays |= {f"dense_{when}/{block}": dense["parameters"][block][when][...] for block in blocks for when in ("before", "after")}
        numpy.savez(out, **arrays)
        print(json.dumps({"rows": rows, "blocks": blocks}))


if __name__ == "__main__":
    main(*sys.argv[1:])
