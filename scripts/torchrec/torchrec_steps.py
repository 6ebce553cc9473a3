#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""torchrec_steps.py < REQUESTS: repeats steps that shardmark exported by TorchRec, for scripts/torchrec/check-step.

A line of stdin is a request of scripts/peers/torchrec_check.py with "ranks" and "ranks_per_node" of its plan; a line of stdout
its reply, {what: largest error of a rank}, {"error": another step} or {"refused"}. torch is imported once, and ranks are forked from there."""
import datetime
import json
import os
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1] / "peers"))
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

from torchrec_check import OtherStep, check  # noqa: E402

MINUTES = 1  # that a rank waits for the others


def run_rank(rank, request, folder):
    """Leaves the reply of this rank in a file, and ends the process: destructors of gloo's threads abort."""
    os.environ["LOCAL_WORLD_SIZE"], os.environ["LOCAL_RANK"] = str(request["ranks_per_node"]), str(rank % request["ranks_per_node"])
    torch.set_num_threads(1)
    try:
        dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=request["ranks"],
                                timeout=datetime.timedelta(minutes=MINUTES))
        reply = check(request, request["most"])
        dist.barrier()
    except OtherStep as error:
        reply = {"error": str(error)}
    except Exception as error:  # what TorchRec throws is what it refuses
        reply = {"refused": str(error).strip().partition("\n")[0] or repr(error)}
    Path(folder, str(rank)).write_text(json.dumps(reply), encoding="utf-8")
    os._exit(0)


def answer(request):
    """The largest errors of the ranks, each a process."""
    with tempfile.TemporaryDirectory(prefix="shardmark-") as folder:
        processes = []
        for rank in range(request["ranks"]):
            process = os.fork()
            if process == 0:
                run_rank(rank, request, folder)
            processes.append(process)
        for process in processes:
            os.waitpid(process, 0)
        replies = [json.loads(Path(folder, str(rank)).read_text(encoding="utf-8")) if Path(folder, str(rank)).exists() else
                   {"refused": f"rank {rank} ended without a reply"} for rank in range(request["ranks"])]
    for kind in ("error", "refused"):  # ranks that wait for one that failed lose the connection
        failed = [reply for reply in replies if kind in reply]
        if failed:
            return next((reply for reply in failed if "gloo" not in reply[kind]), failed[0])
    return {what: max(reply.get(what, 0.0) for reply in replies) for reply in replies for what in reply}


def main():
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # gloo writes there
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), file=replies, flush=True)


if __name__ == "__main__":
    main()
