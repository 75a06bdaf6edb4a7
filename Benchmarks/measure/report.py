"""The report as a file, and the comparison with an earlier report."""

import dataclasses
import datetime
import functools
import json
import os
import pathlib
import platform
import subprocess

from .failure import Failure
from .rows import Row


@functools.cache
def machine() -> dict:
    """Describes the kind of machine without identifying it."""
    model = "unknown"
    for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    swift = subprocess.run(["swift", "--version"], capture_output=True, text=True, check=False)
    return {
        "processor": model, "processors": os.cpu_count(), "memoryGiB": memory,
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "swift": (swift.stdout.splitlines() or ["unknown"])[0],
    }


def file_system_of(path: pathlib.Path) -> str:
    """Returns the type of the file system that a directory is on."""
    path = path.resolve()
    best = ("", "unknown")
    for line in pathlib.Path("/proc/self/mounts").read_text().splitlines():
        _, point, kind, *_ = line.split()
        point = point.replace("\\040", " ")
        if path.is_relative_to(point) and len(point) >= len(best[0]):
            best = (point, kind)
    return best[1]


def summary(rows: list[Row]) -> str:
    """Returns a line that says how many targets were met, and names the others."""
    with_target = [row for row in rows if row.is_met is not None]
    missed = [row for row in with_target if not row.is_met]
    if not with_target:
        return "nothing that has a target was measured"
    line = f"{len(with_target) - len(missed)} of {len(with_target)} within target"
    if missed:
        line += "; missed: " + ", ".join(
            f"{row.operation} ({row.measured}, target {row.target})" for row in missed)
    return line


def write(path: pathlib.Path, rows: list[Row], peers: list[dict], file_system: str) -> None:
    """Writes a report."""
    report = {
        "date": datetime.date.today().isoformat(), "machine": machine(), "fileSystem": file_system,
        "rows": [dataclasses.asdict(row) for row in rows], "peers": peers,
    }
    # A run may be stopped at any time: the file has the old or the new report.
    new = path.with_name(path.name + ".new")
    new.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")
    new.replace(path)


def read(path: pathlib.Path) -> tuple[list[Row], list[dict]]:
    """Reads the rows and the peers of an earlier report."""
    try:
        report = json.loads(path.read_text())
        rows, peers = [Row(**row) for row in report["rows"]], report["peers"]
        for peer in (peer for peer in peers if "times" in peer):
            # In JSON all names are text.
            peer["times"] = {
                operation: {int(count): time for count, time in times.items()}
                for operation, times in peer["times"].items()}
        return rows, peers
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise Failure(f"{path} is not a report from --json: {problem}") from None


def read_baseline(path: pathlib.Path) -> dict[str, Row]:
    """Reads the rows of an earlier report, by their names."""
    return {row.key: row for row in read(path)[0]}


def regressions(rows: list[Row], baseline: dict[str, Row], largest_ratio: float) -> list[str]:
    """Returns a line for each row that is worse than in the baseline by more than a ratio.

    Only ratios to the limit, multiples and sizes are compared: times of different runs are not
    comparable.
    """
    found = []
    for row in rows:
        before = baseline.get(row.key)
        if before is None:
            continue
        if row.ratio is not None and before.ratio:
            change = row.ratio / before.ratio
            was, now = f"{before.ratio:.2f} ×", f"{row.ratio:.2f} ×"
        elif row.unit == "×":
            change = before.ours / row.ours
            was, now = f"{before.ours:.2f} ×", f"{row.ours:.2f} ×"
        elif row.unit == "bytes":
            change = row.ours / before.ours
            was, now = f"{before.ours:.0f} bytes", f"{row.ours:.0f} bytes"
        else:
            continue
        if change > largest_ratio:
            found.append(f"{row.key}: {now}, previously {was}")
    return found
