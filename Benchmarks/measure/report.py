"""The report as a file, and the comparison with an earlier report."""

import dataclasses
import datetime
import json
import os
import pathlib
import platform
import subprocess

from .failure import Failure
from .rows import Row, key_of


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


def write(path: pathlib.Path, rows: list[Row], peers: list[dict], file_system: str) -> None:
    """Writes a report."""
    report = {
        "date": datetime.date.today().isoformat(), "machine": machine(), "fileSystem": file_system,
        "rows": [dataclasses.asdict(row) for row in rows], "peers": peers,
    }
    path.write_text(json.dumps(report, indent=2, ensure_ascii=False) + "\n")


def read_baseline(path: pathlib.Path) -> dict[str, dict]:
    """Reads the rows of an earlier report, by their names."""
    try:
        rows = json.loads(path.read_text())["rows"]
        return {key_of(row["group"], row["operation"]): row for row in rows}
    except (OSError, ValueError, KeyError, TypeError) as problem:
        raise Failure(f"{path} is not a report from --json: {problem}") from None


def regressions(rows: list[Row], baseline: dict[str, dict], largest_ratio: float) -> list[str]:
    """Returns a line for each row that is worse than in the baseline by more than a ratio.

    Only ratios to the limit, multiples and sizes are compared: times of different runs are not
    comparable.
    """
    found = []
    for row in rows:
        before = baseline.get(row.key)
        if before is None:
            continue
        if row.ratio is not None and before["ratio"]:
            change = row.ratio / before["ratio"]
            was, now = f"{before['ratio']:.2f} ×", f"{row.ratio:.2f} ×"
        elif row.unit == "×":
            change = before["ours"] / row.ours
            was, now = f"{before['ours']:.2f} ×", f"{row.ours:.2f} ×"
        elif row.unit == "bytes":
            change = row.ours / before["ours"]
            was, now = f"{before['ours']:.0f} bytes", f"{row.ours:.0f} bytes"
        else:
            continue
        if change > largest_ratio:
            found.append(f"{row.key}: {now}, previously {was}")
    return found
