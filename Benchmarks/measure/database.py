"""The database store compared with its limit, a C program with the same statements and the same
bytes, on a PostgreSQL server of its own that has the default settings."""

import pathlib
import re

from . import rows
from .failure import Failure
from .pairs import by_turns
from .postgres import Server
from .programs import Programs, progress, run_json

GROUP = "database store, values of 512 bytes"
FLEET_GROUP = "database store, several machines"
COSTS = "database store, what it costs the server"
YARDSTICKS = "database store, in the same minutes"
FEW, SOME, VERY_MANY = 1000, 10_000, 1_000_000
ROW_BYTES = 1500
PUTS = 250


def needed_bytes(is_quick: bool) -> int:
    """Returns the disk space that the server needs, with its log of 1 GiB."""
    return (0 if is_quick else ROW_BYTES * VERY_MANY) + (1200 << 20)


def measure(programs: Programs, folder: pathlib.Path, is_quick: bool) -> list[rows.Row]:
    """Starts a server and times all operations."""
    # Beside the folder of the stores, which only its owner may enter.
    with Server(folder.parent) as server:
        return DatabaseComparison(programs, folder, server, is_quick).run()


class DatabaseComparison:
    """All operations, with both programs."""

    def __init__(
        self, programs: Programs, folder: pathlib.Path, server: Server, is_quick: bool,
    ):
        self.limit = programs.paths["database-limit"]
        self.ours = programs.paths["database-workload"]
        self.key = programs.key
        self.folder = folder
        self.server = server
        self.is_quick = is_quick
        self.rows: list[rows.Row] = []
        self.yardsticks: dict[str, list[float]] = {}

    def run(self) -> list[rows.Row]:
        """Makes all measurements; returns their rows."""
        counts = [FEW, SOME] if self.is_quick else [FEW, SOME, VERY_MANY]
        for count in counts:
            self.fill(count)
        self.check()
        for count in counts[1:]:
            self.get(count, "socket", self.server.socket)
            self.get(count, "TCP", self.server.tcp)
            self.put(count)
        if not self.is_quick:
            self.growth()
        self.put_threads()
        self.put_list()
        self.list_names()
        self.refresh()
        self.follow()
        self.contend()
        for count in counts[1:]:
            self.size(count)
        self.cost()
        for title, values in self.yardsticks.items():
            self.rows.append(rows.of_values(YARDSTICKS, title, "µs", values))
        return self.rows

    # The stores, whose schemas are named after the number of their items

    def work(self, program: pathlib.Path, operation: str, count: int, *rest, address="") -> dict:
        """Runs an operation on the store of `count` items."""
        return run_json(
            [program, operation, address or self.server.socket, f"items_{count}", self.key, *rest])

    def fill(self, count: int) -> None:
        """Creates a store of `count` items."""
        self.work(self.ours, "create", count)
        step = 100_000
        for first in range(0, count, step):
            progress(f"making a store of {count:,} items: {first:,}")
            self.work(self.ours, "bulk", count, first, min(step, count - first))
        self.settle(count)
        progress("")

    def settle(self, count: int) -> None:
        """Makes the server as one that has had some time: no row is new, and nothing waits to be
        written or to be vacuumed, which would take a processor from what is measured."""
        self.server.ask(f"VACUUM ANALYZE items_{count}.item")
        self.server.ask("CHECKPOINT")

    def check(self) -> None:
        """Lets both programs write to one store, which both must read, and compares what they
        send."""
        for operation, more in (("durable-put", 100), ("put-list", 2)):
            for seed, program in enumerate((self.limit, self.ours)):
                self.work(program, operation, FEW, FEW, more, seed)
        self.work(self.limit, "check", FEW, FEW)
        self.work(self.ours, "check", FEW, FEW)

        def sent(program: pathlib.Path) -> dict[str, str]:
            def run() -> None:
                for operation in ("get", "durable-put", "put-list"):
                    self.work(
                        program, operation, FEW, FEW, 2, 0, address=self.server.logged)
                self.work(program, "list", FEW, FEW, 1, address=self.server.logged)
            return dict(
                statement for connection in self.server.statements(run).values()
                for statement in connection if statement[0] not in ("", "<unnamed>"))

        limit, ours = sent(self.limit), sent(self.ours)
        for name in ("value", "page", "replace", "write"):
            if limit.get(name) is None or limit.get(name) != ours.get(name):
                raise Failure(
                    f"the statement \"{name}\" of database-limit is not that of the library: "
                    "write it into DatabaseLimit/postgres.c as it is in StoreStatements.swift")

    # Operations

    def yardstick(self, operation: str, place, count: int) -> dict:
        """Measures what the machine and the server need for the least that there is."""
        return run_json([self.limit, operation, place, count])

    def beside(
        self, title: str, count: int, pair_count: int, operation: str, *rest, address: str = "",
        more=(), are_alike: bool = False,
    ):
        """Times both programs alternately with a seed for each pair, and others with them; returns
        the limit's results, ours, and those of the others."""
        def side(program: pathlib.Path):
            return lambda pair: self.work(
                program, operation, count, count, *rest, *(() if are_alike else (pair + 1,)),
                address=address)
        return by_turns(title, pair_count, (side(self.limit), side(self.ours), *more))

    def add(self, title: str, unit: str, results, largest_ratio: float | None = None) -> None:
        """Adds a row of times for each operation."""
        limit, ours = (
            [one["nanoseconds"] / one["count"] for one in side] for side in results[:2])
        self.rows.append(rows.of_pairs(GROUP, title, unit, ours, limit, largest_ratio))

    def note(self, title: str, results: list[dict]) -> None:
        """Adds times to a yardstick's."""
        self.yardsticks.setdefault(title, []).extend(
            one["nanoseconds"] / one["count"] for one in results)

    def get(self, count: int, way: str, address: str) -> None:
        title = f"get one of {count:,} by {way}"
        results = self.beside(
            title, count, 5 if self.is_quick else 15, "get", 5000, address=address,
            more=(lambda pair: self.yardstick("select-one", address, 5000),))
        self.add(title, "µs", results, 1.2)
        self.note(f"SELECT 1 by {way}, in C", results[2])

    def put(self, count: int) -> None:
        title = f"durable put, one of {count:,}"
        results = self.beside(
            title, count, 8 if self.is_quick else 40, "durable-put", PUTS,
            more=(
                lambda pair: self.yardstick("fdatasync", self.folder / "sync", PUTS),
                lambda pair: self.yardstick("select-one", self.server.socket, PUTS)))
        self.add(title, "µs", results, 1.2)
        self.note("fdatasync of 8 KiB, in C", results[2])
        self.note("SELECT 1 by socket, in C", results[3])

    def growth(self) -> None:
        for title, operation, times, pair_count in (
            ("get", "get", 5000, 15), ("durable put", "durable-put", PUTS, 40),
        ):
            few, many = by_turns(f"growth of {title}", pair_count, tuple(
                lambda pair, count=count: self.work(
                    self.ours, operation, count, count, times, pair + 101)
                for count in (SOME, VERY_MANY)))
            self.rows.append(rows.of_pairs(
                GROUP, f"{title}: 1,000,000 beside 10,000", "µs",
                *([one["nanoseconds"] / one["count"] for one in side] for side in (many, few))))

    def put_threads(self) -> None:
        if not self.is_quick:
            self.settle(VERY_MANY)
        self.settle(SOME)
        threads, count = 16, 4000
        title = f"puts of {threads} threads, each"
        results = by_turns(title, 5 if self.is_quick else 15, tuple(
            lambda pair, program=program: self.work(
                program, "put-threads", SOME, SOME, count, pair + 1, threads)
            for program in (self.limit, self.ours)))
        # 0.85 of the limit's puts in a second.
        self.add(title, "µs", results, 1.18)

    def put_list(self) -> None:
        results = self.beside(
            "100 puts in one change", SOME, 5 if self.is_quick else 15, "put-list", 20)
        self.add("100 puts in one change", "ms", results, 1.3)

    def list_names(self) -> None:
        results = self.beside(
            "list 1,000 names", FEW, 5 if self.is_quick else 15, "list", 50, are_alike=True)
        self.add("list 1,000 names", "ms", results, 1.3)

    # Several machines

    def refresh(self) -> None:
        """Times a refresh beside a put, and counts what it sends."""
        refreshes, puts = by_turns("refresh", 5 if self.is_quick else 25, (
            lambda pair: self.work(self.ours, "refresh", FEW, 50),
            lambda pair: self.work(self.ours, "durable-put", SOME, SOME, 100, pair + 1)))
        self.rows.append(rows.of_pairs(
            FLEET_GROUP, "a refresh without the server's answer, beside a put", "µs",
            *([one["nanoseconds"] / one["count"] for one in side] for side in (refreshes, puts)),
            2.8))
        count = 10
        sent = self.server.statements(
            lambda: self.work(self.ours, "refresh", FEW, count, address=self.server.logged))
        [names] = [
            names for names in ([name for name, _ in one] for one in sent.values())
            if "take_reading" in names]
        # Each from its exclusive access to the end of it; the first is not like the others.
        trips = re.findall("take_reading .*?release", " ".join(names))[1:]
        row = rows.of_values(
            FLEET_GROUP, "round trips of a refresh", "", [len(trip.split()) for trip in trips], 4)
        row.note = trips[0]
        self.rows.append(row)

    def follow(self) -> None:
        """Measures until a change is reported on another machine."""
        runs = [
            self.work(self.ours, "follow", FEW, 100 if self.is_quick else 500)
            for _ in range(1 if self.is_quick else 5)]
        for quantile, most in (("p50", None), ("p99", 50e6)):
            self.rows.append(rows.of_values(
                FLEET_GROUP, f"until a change is reported elsewhere, {quantile}", "ms",
                [run[quantile] for run in runs], most))

    def contend(self) -> None:
        """Measures how long exclusive access takes from one machine to the next."""
        runs = [
            self.work(self.ours, "contend", FEW, 50, 4) for _ in range(1 if self.is_quick else 5)]
        for quantile, most in (("p50", 10e6), ("p99", None)):
            self.rows.append(rows.of_values(
                FLEET_GROUP, f"handover among 50 machines, {quantile}", "ms",
                [run[quantile] for run in runs], most))

    def cost(self) -> None:
        """Measures the server's processor time and its log for each operation."""
        gets, puts, refreshes = (
            (4000, 1000, 200) if self.is_quick else (50_000, 5000, 2000))

        def cost(count: int, *operation) -> tuple[float, float]:
            time, written = self.server.cost(lambda: self.work(self.ours, *operation))
            return time * 1e9 / count, written / count
        get = cost(gets, "get", SOME, SOME, gets, 1)
        # Before the puts, the versions of the items are read.
        put = cost(puts, "durable-put", SOME, SOME, puts, 1)
        refresh = cost(refreshes, "refresh", FEW, refreshes)
        for title, value in (
            ("get", get[0]), ("durable put", put[0] - get[0]), ("refresh", refresh[0]),
        ):
            self.rows.append(rows.of_values(COSTS, f"processor time, a {title}", "µs", [value]))
        for title, value in (("durable put", put[1]), ("refresh", refresh[1])):
            self.rows.append(rows.of_values(
                COSTS, f"write-ahead log, a {title}", "bytes", [value]))

    def size(self, count: int) -> None:
        """Measures the table with its indexes, after all puts."""
        size = self.server.ask(f"SELECT pg_total_relation_size('items_{count}.item')")
        self.rows.append(rows.of_values(
            COSTS, f"disk an item, of {count:,}", "bytes", [int(size) / count]))
