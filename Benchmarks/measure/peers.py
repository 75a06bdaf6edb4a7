"""Other stores of secrets, compared with ours with the same items."""

import dataclasses
import json
import pathlib
import shutil
import statistics
import subprocess
import time

from . import rows
from .failure import Failure
from .programs import HERE, Programs, progress, say

INSTALL = HERE / "Peers" / "install"
# Where the peers' programs are built.
WORK = HERE / ".build" / "peers"
OURS = "SessionTools"
OPERATIONS = ("put", "get", "list", "list-again", "remove")
# The timeout of a step, in seconds.
PATIENCE = 300
# The approximate duration of a step's timed operations, and the limits of their number.
STEP_SECONDS, FEWEST, MOST = 0.5, 5, 2000
# How often each is timed, and the time of one operation above which it is timed only once.
TURNS, SLOW_NANOSECONDS = 5, 0.1e9


class Unbearable(Exception):
    """A peer takes too long or fails."""


class Peer:
    """A store with the protocol that Peers/README.md describes."""

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
    """The sealed store, with the program that is compared with the limit."""

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
        if operation == "list-again":
            return self._ours("list-again", item_count, count)
        return {**self._ours("list", item_count), "count": 1}

    def check(self, item_count: int) -> None:
        self._ours("check", item_count)

    def _ours(self, operation: str, *rest) -> dict:
        return self.programs.run(self.programs.ours, operation, self.folder, *rest)


@dataclasses.dataclass
class Found:
    """The programs of peers by their names, and why others are missing."""

    programs: dict[str, pathlib.Path]
    missing: dict[str, str]


def find(chosen: list[str], is_installing: bool) -> Found:
    """Builds the programs of peers, without installing what they need unless `is_installing`.

    `chosen` has the names of the peers; all are built if it is empty.
    """
    say("building the programs of other stores")
    command = [INSTALL, *([] if is_installing else ["--only-installed"]), WORK, *chosen]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, check=False)
    if done.returncode != 0:
        raise Failure(f"Peers/{INSTALL.name} ended with status {done.returncode}")
    missing = dict(
        line.split("\t", 1) for line in (WORK / "missing").read_text().splitlines())
    built = {path.name: path for path in sorted((WORK / "peers").iterdir())}
    if chosen:
        # A program may be there because another peer's needs it.
        built = {name: path for name, path in built.items() if name in chosen}
        missing = {name: reason for name, reason in missing.items() if name in chosen}
    return Found(built, missing)


def measure(programs: Programs, folder: pathlib.Path, found: Found, is_quick: bool) -> list[dict]:
    """Times peers and our store alternately at each number of items.

    Returns a dictionary for each, with nanoseconds by operation and number of items, and with the
    reason if it is missing, fails or takes too long.
    """
    missing = dict(found.missing)
    peers: list[Peer] = [OurStore(programs, folder / "ours")]
    for name, program in found.programs.items():
        try:
            peers.append(Peer(name, program, folder / name))
        except Unbearable as problem:
            missing[name] = str(problem)
    reports = {
        peer.name: {
            "name": peer.name, **peer.about, "notes": [],
            "times": {operation: {} for operation in OPERATIONS}}
        for peer in peers}
    for item_count in (100, 2000) if is_quick else (100, 2000, 10_000):
        peers = _measure_together(peers, item_count, reports)
    progress("")
    return [
        *reports.values(),
        *({"name": name, "missing": reason} for name, reason in sorted(missing.items()))]


def gets_beside(found: list[dict]) -> list[rows.Row]:
    """Compares our gets with the fastest other store, at each number of items."""
    times = {peer["name"]: peer["times"]["get"] for peer in found if "times" in peer}
    ours = times.pop(OURS, {})
    made = []
    for item_count, time_of_ours in ours.items():
        others = [(its[item_count], name) for name, its in times.items() if item_count in its]
        if others:
            fastest, name = min(others)
            row = rows.of_values(
                "beside the fastest other store", f"get, {item_count:,} items", "µs",
                [time_of_ours])
            row.target = f"< {rows.figure(fastest, 'µs')} ({name})"
            row.is_met = time_of_ours < fastest
            made.append(row)
    return made


def _measure_together(peers: list[Peer], item_count: int, reports: dict[str, dict]) -> list[Peer]:
    """Times each operation of all peers alternately, so that a load on the machine slows all.

    Returns the peers that neither failed nor took too long.
    """
    def keep(peers: list[Peer], what: str, step) -> list[Peer]:
        able = []
        for peer in peers:
            progress(f"{item_count:,} items: {what}, {peer.name}")
            begin = time.monotonic()
            try:
                step(peer)
                able.append(peer)
            except Unbearable as problem:
                seconds = time.monotonic() - begin
                reports[peer.name]["notes"].append(
                    f"{item_count:,} items: {problem} ({seconds:.0f} s)")
        return able

    peers = keep(peers, "making a store", lambda peer: peer.prepare(item_count))
    for operation in OPERATIONS:
        found: dict[str, list[float]] = {peer.name: [] for peer in peers}

        def step(peer: Peer) -> None:
            times = found[peer.name]
            # A slow peer is timed only once.
            if operation in peer.operations and not (times and times[0] > SLOW_NANOSECONDS):
                times.append(_time(peer, item_count, operation))

        for turn in range(TURNS):
            peers = keep(peers, f"{operation}, turn {turn + 1}", step)
        for name, times in found.items():
            if times:
                reports[name]["times"][operation][item_count] = statistics.median(times)
    peers = keep(peers, "looking for lost items", lambda peer: peer.check(item_count))
    for peer in peers:
        shutil.rmtree(peer.folder, ignore_errors=True)
    return peers


def _time(peer: Peer, item_count: int, operation: str) -> float:
    """Returns the nanoseconds per operation, measured over about half a second."""
    if operation == "list":
        return peer.measure(item_count, operation, 1)["nanoseconds"]
    first = _once(peer, item_count, operation, FEWEST)
    count = max(
        FEWEST, min(MOST, int(STEP_SECONDS * 1e9 / (first["nanoseconds"] / first["count"]))))
    result = _once(peer, item_count, operation, count) if count > FEWEST else first
    return result["nanoseconds"] / result["count"]


def _once(peer: Peer, item_count: int, operation: str, count: int) -> dict:
    """Measures an operation and restores the store's contents."""
    if operation == "remove":
        peer.measure(item_count, "put", count)
    result = peer.measure(item_count, operation, count)
    if operation == "put":
        peer.measure(item_count, "remove", count)
    return result
