"""Other stores of secrets, with the same items, beside ours."""

import json
import pathlib
import shutil
import subprocess
import time

from .failure import Failure
from .programs import HERE, Programs, progress

INSTALL = HERE / "Peers" / "install"
OURS = "SessionTools"
OPERATIONS = ("put", "get", "list", "remove")
# What no step may take longer than.
PATIENCE = 300
# How long the timed operations of a step should take, about, and how many they are.
STEP_SECONDS, FEWEST, MOST = 0.5, 5, 2000


class Unbearable(Exception):
    """A peer that takes too long, or fails."""


class Peer:
    """A store by the protocol that Peers/README.md describes."""

    def __init__(self, name: str, program: pathlib.Path, folder: pathlib.Path):
        self.name = name
        self.program = program
        self.folder = folder
        self.about = json.loads(self._run("describe"))

    @property
    def operations(self) -> list[str]:
        return self.about.get("operations", list(OPERATIONS))

    def prepare(self, item_count: int) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        self._run("prepare", self.folder, item_count)

    def measure(self, item_count: int, operation: str, count: int) -> dict:
        return json.loads(self._run("measure", self.folder, item_count, operation, count))

    def check(self, item_count: int) -> None:
        self._run("check", self.folder, item_count)

    def _run(self, *arguments) -> str:
        try:
            done = subprocess.run(
                [str(part) for part in (self.program, *arguments)], capture_output=True, text=True,
                check=False, timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            raise Unbearable(f"{arguments[0]} takes more than {PATIENCE} s") from None
        if done.returncode == 3:
            raise Unbearable(f"LOST DATA: {done.stderr.strip()}")
        if done.returncode != 0:
            said = done.stderr.strip().splitlines() or [f"status {done.returncode}"]
            raise Unbearable(f"{arguments[0]} fails: {said[-1]}")
        return done.stdout


class OurStore(Peer):
    """The sealed store, by the program that is compared with the limit."""

    def __init__(self, programs: Programs, folder: pathlib.Path):
        self.name = OURS
        self.programs = programs
        self.folder = folder
        self.about = {
            "name": OURS, "what": "the sealed file store", "durable": "yes",
            "durableBecause": "fdatasync of the journal before a change returns",
            "sealed": "XChaCha20-Poly1305", "start": "in process"}

    def prepare(self, item_count: int) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        self._ours("create")
        self._ours("bulk", 0, item_count)

    def measure(self, item_count: int, operation: str, count: int) -> dict:
        # The first put and the first removal are not timed.
        if operation == "put":
            return self._ours("durable-put", item_count, count + 1)
        if operation == "remove":
            return self._ours("remove", item_count, count + 1)
        if operation == "get":
            return self._ours("get", item_count, count)
        return {**self._ours("list", item_count), "count": 1}

    def check(self, item_count: int) -> None:
        self._ours("check", item_count)

    def _ours(self, operation: str, *rest) -> dict:
        return self.programs.run(self.programs.ours, operation, self.folder, *rest)


def measure(programs: Programs, folder: pathlib.Path, work: pathlib.Path, is_quick: bool) -> list[dict]:
    """Installs all peers, and times them one after the other at each number of items.

    One dictionary each, with nanoseconds by operation and number of items, and with what could not be
    had or borne.
    """
    done = subprocess.run([INSTALL, work], stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Failure(f"{INSTALL.name} ended with status {done.returncode}")
    found = [_report(OurStore(programs, folder / "ours"), is_quick)]
    for program in sorted((work / "peers").iterdir()):
        try:
            peer = Peer(program.name, program, folder / "peer")
        except Unbearable as problem:
            found.append({"name": program.name, "missing": str(problem)})
            continue
        found.append(_report(peer, is_quick))
        shutil.rmtree(folder / "peer", ignore_errors=True)
    for line in (work / "missing").read_text().splitlines():
        name, _, reason = line.partition("\t")
        found.append({"name": name, "missing": reason})
    progress("")
    return found


def _report(peer: Peer, is_quick: bool) -> dict:
    times: dict[str, dict[int, float]] = {operation: {} for operation in OPERATIONS}
    report = {"name": peer.name, **peer.about, "times": times, "notes": []}
    for item_count in (100, 2000) if is_quick else (100, 2000, 10_000):
        try:
            begin = time.monotonic()
            progress(f"{peer.name}: making a store of {item_count:,}")
            peer.prepare(item_count)
            for operation in (name for name in OPERATIONS if name in peer.operations):
                progress(f"{peer.name}: {operation} of {item_count:,}")
                times[operation][item_count] = _time(peer, item_count, operation)
            progress(f"{peer.name}: looking for lost items of {item_count:,}")
            peer.check(item_count)
        except Unbearable as problem:
            seconds = time.monotonic() - begin
            report["notes"].append(f"{item_count:,} items: {problem} ({seconds:.0f} s)")
            break
    return report


def _time(peer: Peer, item_count: int, operation: str) -> float:
    """Nanoseconds for each, as many as take half a second."""
    if operation == "list":
        return min(peer.measure(item_count, operation, 1)["nanoseconds"] for _ in range(3))
    first = _once(peer, item_count, operation, FEWEST)
    count = max(FEWEST, min(MOST, int(STEP_SECONDS * 1e9 / (first["nanoseconds"] / first["count"]))))
    result = _once(peer, item_count, operation, count)
    return result["nanoseconds"] / result["count"]


def _once(peer: Peer, item_count: int, operation: str, count: int) -> dict:
    """Measures an operation, and leaves the store as it was."""
    if operation == "remove":
        peer.measure(item_count, "put", count)
    result = peer.measure(item_count, operation, count)
    if operation == "put":
        peer.measure(item_count, "remove", count)
    return result
