"""The measurements as rows of a report."""

import dataclasses
import statistics


@dataclasses.dataclass
class Row:
    """One line: our figure, the limit's figure, and the median of the ratios of pairs.

    Times are in nanoseconds, sizes in bytes.
    """

    group: str
    operation: str
    unit: str
    ours: float
    limit: float | None = None
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    pairs: int = 0
    target: str | None = None
    is_met: bool | None = None
    note: str | None = None

    @property
    def key(self) -> str:
        """The name of the row in every report."""
        return key_of(self.group, self.operation)


def key_of(group: str, operation: str) -> str:
    """Returns the name of a row in a report or in a file."""
    return f"{group}: {operation}"


def of_pairs(
    group: str, operation: str, unit: str, ours: list[float], limit: list[float],
    largest_ratio: float | None = None, note: str | None = None,
) -> Row:
    """Makes a row of times that were measured alternately."""
    ratios = sorted(our / its for our, its in zip(ours, limit, strict=True))
    quarter = len(ratios) // 4
    ratio = statistics.median(ratios)
    return Row(
        group, operation, unit, statistics.median(ours), statistics.median(limit), ratio,
        (ratios[quarter], ratios[-1 - quarter]), len(ratios),
        None if largest_ratio is None else f"≤ {largest_ratio:g} ×",
        None if largest_ratio is None else ratio <= largest_ratio, note)


def of_values(
    group: str, operation: str, unit: str, values: list[float], most: float | None = None,
    limit: list[float] | None = None,
) -> Row:
    """Makes a row whose target is a value instead of a ratio."""
    value = statistics.median(values)
    target = None if most is None else f"≤ {figure(most, unit)}"
    return Row(
        group, operation, unit, value, None if limit is None else statistics.median(limit),
        pairs=len(values), target=target, is_met=None if most is None else value <= most)


def figure(value: float, unit: str) -> str:
    """Formats a value with its unit."""
    scale, digits = {
        "µs": (1e3, 2), "ms": (1e6, 2), "bytes": (1, 1), "MiB": (1 << 20, 1), "×": (1, 2),
        "": (1, 0)}[unit]
    return f"{value / scale:,.{digits}f} {unit}".strip()
