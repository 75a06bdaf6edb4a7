"""Alternating measurements."""

from typing import Callable

from .programs import progress


def by_turns(
    title: str, count: int, sides: tuple[Callable[[int], dict], ...],
) -> tuple[list[dict], ...]:
    """Measures two or more sides alternately, in the other order in every other round.

    A temporary load on the machine then slows all sides.
    """
    results: tuple[list[dict], ...] = tuple([] for _ in sides)
    order = range(len(sides))
    for pair in range(count):
        for side in (order, reversed(order))[pair % 2]:
            results[side].append(sides[side](pair))
        progress(f"{title}: {pair + 1} of {count} pairs")
    progress("")
    return results
