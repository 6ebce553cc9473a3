#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchrec_step.py FILE.h5 FILE.npz: what torchrec_check.py needs of a step that `shardmark run --export FILE.h5` wrote, for a
Python without HDF5. Prints as JSON the tables {name, rows, dim}, the features {name, table, pooling}, the samples, the optimizer,
and the names of the dense model's blocks."""
import json
import sys

import h5py
import numpy


def text(attribute):
    return attribute.decode() if isinstance(attribute, bytes) else str(attribute)


def main(exported, out):
    with h5py.File(exported) as file:
        arrays, features, tables, optimizer = {}, [], [], None
        for name, feature in file["features"].items():
            arrays |= {f"ids/{name}": feature["indices"][...], f"offsets/{name}": feature["offsets"][...],
                       f"outputs/{name}": file["outputs"][name][...], f"gradients/{name}": file["gradients"][name][...]}
            features.append({"name": name, "table": text(feature.attrs["table"]), "pooling": text(feature.attrs["pooling"])})
            if "weights" in feature or "segment_rank" in feature.attrs or features[-1]["pooling"] not in ("sum", "mean"):
                raise SystemExit(f"feature {name}: TorchRec's step is repeated for sums and means without weights or segments")
        for name, table in file["tables"].items():
            if "tensor_train" in table.attrs or text(table.attrs["value_type"]) != "fp32":
                raise SystemExit(f"table {name}: TorchRec's step is repeated for dense tables of fp32")
            arrays |= {f"{what}/{name}": table[what][...] for what in ("rows", "before", "after", "state_before", "state_after")
                       if what in table}
            tables.append({"name": name, "rows": int(table.attrs["rows"]), "dim": int(table.attrs["dim"])})
            optimizer = json.loads(table.attrs["optimizer"])
        blocks = []
        if "dense" in file:
            dense = file["dense"]
            arrays |= {what: dense[what][...] for what in ("numerical", "labels")}
            arrays["loss"] = numpy.float64(json.loads(dense.attrs["outcome"])["loss"])
            blocks = sorted(dense["parameters"], key=lambda name: (name.split(".")[:2], name.endswith("bias")))
            arrays |= {f"dense_{when}/{block}": dense["parameters"][block][when][...] for block in blocks for when in ("before", "after")}
        numpy.savez(out, **arrays)
        samples = len(arrays[f"offsets/{features[0]['name']}"]) - 1
        print(json.dumps({"tables": tables, "features": features, "samples": samples, "optimizer": optimizer, "blocks": blocks}))


if __name__ == "__main__":
    main(*sys.argv[1:])
