# SPDX-License-Identifier: Apache-2.0
"""Numbers and tables as the pages write them, and where something was measured."""
from measured.campaigns import KERNEL_PEERS


def span_text(ratios):
    """"mean of the cases, 0.80 (b) to 1.58 (d)": {case: ratio}, so that no mean hides a case."""
    if len(ratios) < 2:
        return "one case"
    least, most = min(ratios, key=ratios.get), max(ratios, key=ratios.get)
    return f"mean of the cases, {ratios[least]:.2f} ({least}) to {ratios[most]:.2f} ({most})"


def figure(x):
    """About four significant digits without an exponent, as the program prints them: 0.123, 1.234, 12.34, 12345."""
    return f"{x:,.{3 if x < 10 else 2 if x < 100 else 1 if x < 1000 else 0}f}"


def interval(time):
    return f"{figure(time['median'])} [{figure(time['low'])}, {figure(time['high'])}]"


def ratio_text(ratio):
    """A ratio alone, or (ratio, low, high) with its interval, if it has one."""
    if isinstance(ratio, float):
        return f"{ratio:.2f}"
    return f"{ratio[0]:.2f}" if ratio[1] is None else f"{ratio[0]:.2f} [{ratio[1]:.2f}, {ratio[2]:.2f}]"


def size_text(count):
    for unit, bytes_of in (("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= bytes_of and count % bytes_of == 0:
            return f"{count // bytes_of} {unit}"
    return f"{count} B"


def markdown_table(head, rows):
    lines = [head, ["--"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines)


def several(names):
    """a, b or c"""
    return " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 2 else names)


def origin(results):
    """{"cpu", "git_hash", "date", "threads"} of whatever kind of file it is."""
    environment = results.environment
    if results.campaign.kind == "kernels":
        return environment
    if results.campaign.kind in KERNEL_PEERS:
        return environment["shardmark"]
    build = environment["build"]
    return {"cpu": environment.get("machine", {}).get("cpu", "no machine"), "date": environment["time"], "threads": environment.get("threads"),
            "git_hash": (build["git_hash"] or "unknown") + ("+" if build["dirty"] else "")}


def commit_of(results):
    commit = origin(results)["git_hash"]
    return commit.rstrip("+")[:12] + (" with changes" if commit.endswith("+") else "")


def date_of(results):
    return origin(results).get("date", "")[:10]


def ranks_of(results):
    """2 ranks of 1 thread, 2 ranks, 2 threads, one process"""
    def counted(number, thing):
        return f"{number} {thing}" + ("" if int(number) == 1 else "s")
    if results.campaign.kind in ("kernels", "map_peers", *KERNEL_PEERS):
        return counted(origin(results)["threads"], "thread")
    first = next((record for record in results.records if "ranks" in record), None)  # not a peer's
    if first is None:
        return "one process"
    return counted(first["ranks"], "rank") + (f" of {counted(first['threads'], 'thread')}" if "threads" in first else "")


def circumstances(results):
    """When, by which program, on how many ranks, and how hosts are joined."""
    alike = len({(record["ranks"], record.get("threads")) for record in results.records if "ranks" in record}) < 2  # or each part has its own
    ranks = ranks_of(results) if alike else ""
    parts = (date_of(results), f"commit {commit_of(results)}", ranks, results.told.get("note"))
    return ", ".join(part for part in parts if part)
