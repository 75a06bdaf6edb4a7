"""The sealed store compared with its limit, a C program that reads and writes the same bytes with
libsodium and the same system calls and does nothing else."""

import json
import pathlib
import shutil
import subprocess

from . import rows
from .failure import Failure
from .pairs import by_turns
from .programs import HERE, Programs, progress, python_with_nacl

READER = HERE.parent / "Tests" / "Tools" / "FormatReader" / "read_store.py"
GROUP = "sealed store, values of 512 bytes"
MANY, VERY_MANY = 100_000, 1_000_000
# The number of items up to which the library keeps listed names.
KEPT = 10_000
RECORD_BYTES = 712


def value_of(number: int) -> bytes:
    """Returns the value of an item, the same as in all programs."""
    return number.to_bytes(8, "little") + bytes((number + at * 7) & 0xFF for at in range(8, 512))


def needed_bytes(is_quick: bool) -> int:
    """Returns the disk space that the stores need."""
    return RECORD_BYTES * (4 * MANY if is_quick else VERY_MANY + 4 * MANY) + (64 << 20)


class StoreComparison:
    """All operations, with both programs."""

    def __init__(self, programs: Programs, folder: pathlib.Path, is_quick: bool):
        self.programs = programs
        self.folder = folder
        self.is_quick = is_quick
        self.rows: list[rows.Row] = []

    def run(self) -> list[rows.Row]:
        self.check_format()
        self.durable_put()
        stores = self.bulk()
        self.get(stores[1], MANY, largest_ratio=1.2)
        self.get(self.filled("get", 100), 100, most_microseconds=2)
        self.list_all(self.filled("list", KEPT), KEPT, "first list of 10,000 names", 1.1)
        self.list_all(stores[1], MANY, "list 100,000")
        self.remove(stores)
        for item_count, pair_count in ((100, 9), (10_000, 7), (MANY, 3 if self.is_quick else 7)):
            self.compact(item_count, pair_count)
        for item_count in (100, 10_000):
            self.open(self.filled("open", item_count), item_count, None, 9)
        self.open(self.filled("open", MANY), MANY, None, 5 if self.is_quick else 15)
        if not self.is_quick:
            self.open(self.filled("open", VERY_MANY), VERY_MANY, 1.1, 7)
        return self.rows

    def new_store(self, name: str) -> pathlib.Path:
        path = self.folder / name
        shutil.rmtree(path, ignore_errors=True)
        self.programs.run(self.programs.ours, "create", path)
        return path

    def filled(self, name: str, item_count: int) -> pathlib.Path:
        """Creates a store of `item_count` items."""
        store = self.new_store(name)
        for first in range(0, item_count, MANY):
            count = min(MANY, item_count - first)
            self.programs.run(self.programs.ours, "bulk", store, first, count)
            progress(f"making a store of {first + count:,} items")
        return store

    def check_format(self) -> None:
        """Lets both programs write to one store; both, and an independent reader, must read it."""
        limit, ours, run = self.programs.limit, self.programs.ours, self.programs.run
        store = self.new_store("same")
        first = 0
        for program in (limit, ours, limit, ours):
            run(program, "durable-put", store, first, 20)
            run(program, "bulk", store, first + 20, 100)
            first += 120
        run(limit, "compact", store, first)
        run(limit, "check", store, first)
        run(ours, "check", store, first)
        run(ours, "compact", store, first)
        run(limit, "list", store, first)
        run(limit, "check", store, first)

        command = [python_with_nacl(), READER, "--key-file", self.programs.key, "--json", store]
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True, check=False)
        try:
            read = json.loads(done.stdout)
        except json.JSONDecodeError:
            raise Failure(f"{READER.name}: {done.stderr.strip()}") from None
        if "error" in read:
            raise Failure(f"{READER.name}: {read['what']}")
        if read["findings"]:
            raise Failure(f"{READER.name} finds {read['findings']}")
        found = {item["identifier"]: item["value_hex"] for item in read["items"]}
        wanted = {f"item-{number:07}": value_of(number).hex() for number in range(first)}
        if found != wanted:
            raise Failure(f"{READER.name} read items that differ from those written")
        shutil.rmtree(store)

    def pairs(self, title: str, count: int, measure) -> tuple[list[dict], list[dict]]:
        """Times both programs alternately; returns the limit's results and ours."""
        return by_turns(title, count, (
            lambda pair: measure(self.programs.limit, 0, pair),
            lambda pair: measure(self.programs.ours, 1, pair)))

    def add(
        self, operation: str, unit: str, results, largest_ratio: float | None = None,
        most: float | None = None,
    ) -> None:
        """Adds a row of times per item, or of the whole time if the unit is ms.

        The target is a ratio, or a time in nanoseconds.
        """
        limit, ours = (
            [one["nanoseconds"] / (1 if unit == "ms" else one["count"]) for one in side]
            for side in results)
        row = rows.of_pairs(GROUP, operation, unit, ours, limit, largest_ratio)
        if most is not None:
            row.target, row.is_met = f"≤ {rows.figure(most, unit)}", row.ours <= most
        self.rows.append(row)

    def durable_put(self) -> None:
        count = 250
        stores = [self.new_store("put-limit"), self.new_store("put-ours")]
        results = self.pairs(
            "durable put", 8 if self.is_quick else 40,
            lambda program, side, pair: self.programs.run(
                program, "durable-put", stores[side], pair * count, count))
        self.add("durable put", "µs", results, 1.08)

    def bulk(self) -> list[pathlib.Path]:
        names = ["bulk-limit", "bulk-ours"]
        results = self.pairs(
            "100,000 in one change", 3 if self.is_quick else 11,
            lambda program, side, pair: self.programs.run(
                program, "bulk", self.new_store(names[side]), 0, MANY))
        self.add("each of 100,000 in one change", "µs", results, 1.5)
        return [self.folder / name for name in names]

    def get(
        self, store: pathlib.Path, item_count: int, largest_ratio: float | None = None,
        most_microseconds: float | None = None,
    ) -> None:
        count = 20_000 if self.is_quick else 100_000
        title = f"get one of {item_count:,}"
        results = self.pairs(
            title, 5 if self.is_quick else 15,
            lambda program, side, pair: self.programs.run(
                program, "get", store, item_count, count))
        self.add(
            title, "µs", results, largest_ratio,
            None if most_microseconds is None else most_microseconds * 1e3)

    def list_all(
        self, store: pathlib.Path, item_count: int, title: str,
        largest_ratio: float | None = None,
    ) -> None:
        # Each list is made by a new process, which has not listed the names before.
        results = self.pairs(
            title, 5 if self.is_quick else 11,
            lambda program, side, pair: self.programs.run(program, "list", store, item_count))
        self.add(title, "ms", results, largest_ratio)

    def remove(self, stores: list[pathlib.Path]) -> None:
        # The limit cannot read a journal with removals: there is one pair, with a store each.
        count = 2000
        results = self.pairs(
            "remove", 1,
            lambda program, side, pair: self.programs.run(
                program, "remove", stores[side], 0, count))
        self.add("durable remove", "µs", results)
        for store in stores:
            shutil.rmtree(store)

    def compact(self, item_count: int, pair_count: int) -> None:
        names = ["compact-limit", "compact-ours"]
        results = self.pairs(
            f"compact {item_count:,}", pair_count,
            lambda program, side, pair: self.programs.run(
                program, "compact", self.filled(names[side], item_count), item_count))
        self.add(f"compact {item_count:,}", "ms", results)

    def open(
        self, store: pathlib.Path, item_count: int, largest_ratio: float | None, pair_count: int,
    ) -> None:
        empty = self.new_store("empty")
        title = f"open {item_count:,}"
        results = self.pairs(
            title, pair_count,
            lambda program, side, pair: self.programs.run(
                program, "open", store, *((item_count, empty) if side else ())))
        self.add(title, "ms", results, largest_ratio)
        if item_count >= MANY:
            limit, ours = (
                [one["memoryBytes"] / one["count"] for one in side] for side in results)
            self.rows.append(rows.of_values(
                GROUP, f"memory an item, {item_count:,}", "bytes", ours,
                64 if item_count == VERY_MANY else None, limit))
