"""A service whose users' tokens have all expired at once, as after an outage of their server."""

import json
import pathlib
import subprocess
import urllib.request
from typing import Callable

from . import programs, rows
from .failure import Failure

GROUP = "a crowd of users whose tokens have run out"
# The number of users, and the seconds that their server takes.
CROWDS = ((600, 4.0), (5000, 0.05))
# The number of concurrent refreshes in a process.
CONCURRENT = 64
SERVER = programs.HERE.parent / "Tests" / "Services" / "CrowdedServer" / "server.py"


def measure(
    built: programs.Programs, new_store: Callable[[str], pathlib.Path], is_quick: bool,
) -> list[rows.Row]:
    """Lets all users of a crowd request a token at once, and measures the process meanwhile."""
    worker, made = built.paths["SessionToolsSessionWorker"], []
    for users, delay in CROWDS:
        title = f"{users:,} users, {delay * 1000:,.0f} ms"
        runs = []
        for run in range(1 if is_quick else 3):
            programs.progress(f"{title}: run {run + 1}")
            runs.append(_ask(worker, new_store("crowd"), built.key, users, delay))
        programs.progress("")
        made += _rows(title, users, delay, runs)
    return made


def _ask(
    worker: pathlib.Path, store: pathlib.Path, key: pathlib.Path, users: int, delay: float,
) -> dict[str, float]:
    """Returns the process's own figures.

    Fails unless all users were answered and the server received one request for each.
    """
    with subprocess.Popen(
        ["/usr/bin/python3", SERVER, str(delay)], stdout=subprocess.PIPE, text=True,
    ) as server:
        try:
            address = server.stdout.readline().strip()
            done = subprocess.run(
                [worker, "crowd", store, key, address, str(users)], capture_output=True, text=True,
                check=False)
            if done.returncode != 0:
                raise Failure(f"the crowd: {done.stderr.strip() or done.returncode}")
            with urllib.request.urlopen(f"{address}/counts") as answer:
                counts = json.load(answer)
        finally:
            server.kill()
    said = {name: float(value) for name, value in map(str.split, done.stdout.splitlines())}
    wanted = {"received": users, "answered": users, "reused": 0}
    if said["answered"] != users or counts != wanted:
        raise Failure(
            f"{said['answered']:.0f} of {users} users were answered; the server: {counts}")
    return said


def _rows(title: str, users: int, delay: float, runs: list[dict[str, float]]) -> list[rows.Row]:
    # The server's time alone, with as many requests at a time as a process makes.
    least = -(-users // CONCURRENT) * delay * 1e9

    def largest(name: str, scale: float = 1) -> list[float]:
        return [max(run[name] for run in runs) * scale]

    return [
        rows.of_pairs(
            GROUP, f"{title}: all answered", "ms", [run["milliseconds"] * 1e6 for run in runs],
            [least] * len(runs)),
        rows.of_values(GROUP, f"{title}: most threads", "", largest("threads"), 99),
        rows.of_values(
            GROUP, f"{title}: most memory", "MiB", largest("kibibytes", 1024), 128 << 20),
        rows.of_values(
            GROUP, f"{title}: p99 of a get from memory", "ms", largest("p99", 1e6), 5e6),
    ]
