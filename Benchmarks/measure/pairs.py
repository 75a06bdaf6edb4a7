"""Alternating measurements."""

from typing import Callable

from .programs import progress


def by_turns(
    title: str, count: int, sides: tuple[Callable[[int], dict], Callable[[int], dict]],
) -> tuple[list[dict], list[dict]]:
    """Measures two sides alternately, each first in every other pair.

    A temporary load on the machine then slows both sides.
    """
    results: tuple[list[dict], list[dict]] = ([], [])
    for pair in range(count):
        for side in ((0, 1), (1, 0))[pair % 2]:
            results[side].append(sides[side](pair))
        progress(f"{title}: {pair + 1} of {count} pairs")
    progress("")
    return results
