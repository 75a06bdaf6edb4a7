"""Durable puts into one store by several threads and processes."""

import concurrent.futures
import pathlib
import statistics
from typing import Callable

from . import rows
from .pairs import by_turns
from .programs import Programs

GROUP = "durable puts at the same time, throughput as a multiple of one"
LIMIT_GROUP = "durable puts at the same time, throughput as a multiple of the limit's"


def measure(
    programs: Programs, new_store: Callable[[str], pathlib.Path], is_quick: bool,
) -> list[rows.Row]:
    """Times one and several threads or processes alternately."""
    pair_count = 3 if is_quick else 9
    made = []
    for thread_count in (2, 8):
        made.append(_row(
            f"{thread_count} threads", pair_count,
            lambda pair: _threads(programs, new_store("threads-one"), 1, 500),
            lambda pair: _threads(
                programs, new_store("threads-many"), thread_count, 500 * thread_count)))
    made[-1].limit = _limit_of_threads(programs, new_store, pair_count)
    made.append(_beside_limit(programs, new_store, pair_count))
    for process_count in (2, 4):
        made.append(_row(
            f"{process_count} processes", pair_count,
            lambda pair: _processes(programs, new_store("processes-one"), 1),
            lambda pair: _processes(programs, new_store("processes-many"), process_count)))
    return made


def _row(title: str, pair_count: int, one, many) -> rows.Row:
    return rows.of_values(GROUP, title, "×", _multiples(title, pair_count, one, many))


def _multiples(title: str, pair_count: int, one, many) -> list[float]:
    ones, manies = by_turns(title, pair_count, (one, many))
    return [
        (many["count"] / many["nanoseconds"]) / (one["count"] / one["nanoseconds"])
        for one, many in zip(ones, manies)]


def _beside_limit(programs: Programs, new_store, pair_count: int) -> rows.Row:
    """Compares the throughput of eight threads with that of eight threads in C."""
    title, count = "8 threads", 4000
    limits, ours = by_turns(f"{title} beside 8 in C", pair_count, (
        lambda pair: programs.run(
            programs.limit, "put-threads", new_store("threads-limit"), 0, count),
        lambda pair: _threads(programs, new_store("threads-ours"), 8, count)))
    row = rows.of_values(LIMIT_GROUP, title, "×", [
        limit["nanoseconds"] / our["nanoseconds"] for limit, our in zip(limits, ours)])
    row.target, row.is_met = "≥ 0.8 ×", row.ours >= 0.8
    return row


def _limit_of_threads(programs: Programs, new_store, pair_count: int) -> float:
    """Returns the gain from eight threads in C that share each write and do nothing else."""
    def put(operation: str, store: pathlib.Path, count: int) -> dict:
        return programs.run(programs.limit, operation, store, 0, count)

    return statistics.median(_multiples(
        "eight threads in C", pair_count,
        lambda pair: put("durable-put", new_store("limit-one"), 500),
        lambda pair: put("put-threads", new_store("limit-many"), 4000)))


def _threads(programs: Programs, store: pathlib.Path, thread_count: int, count: int) -> dict:
    return programs.run(programs.ours, "put-threads", store, 0, count, thread_count)


def _processes(programs: Programs, store: pathlib.Path, process_count: int) -> dict:
    count = 1000
    with concurrent.futures.ThreadPoolExecutor(process_count) as pool:
        results = list(pool.map(
            lambda number: programs.run(
                programs.ours, "durable-put", store, number * count, count),
            range(process_count)))
    start = min(result["end"] - result["nanoseconds"] for result in results)
    end = max(result["end"] for result in results)
    return {
        "count": sum(result["count"] for result in results), "nanoseconds": end - start}
