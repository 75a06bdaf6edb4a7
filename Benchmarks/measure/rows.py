"""The measurements as rows of a report."""

import dataclasses
import statistics

# The size of a unit, in nanoseconds or bytes, and the decimal places that are shown.
UNITS = {
    "µs": (1e3, 2), "ms": (1e6, 2), "bytes": (1, 1), "MiB": (1 << 20, 1), "×": (1, 2), "": (1, 0)}


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
        return f"{self.group}: {self.operation}"

    @property
    def measured(self) -> str:
        """What is compared with the target, with its unit."""
        of_ratio = self.ratio is not None and (self.target or "").endswith("×")
        return figure(self.ratio, "×") if of_ratio else figure(self.ours, self.unit)

    @property
    def largest_ratio(self) -> float | None:
        """The target as a ratio to the limit, if it can be expressed as one."""
        sign, _, target = (self.target or "").partition(" ")
        if sign != "≤" or not self.limit:
            return None
        number, _, unit = target.partition(" ")
        value = float(number.replace(",", "")) * UNITS[unit][0]
        return value if unit == "×" else value / self.limit


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
    scale, digits = UNITS[unit]
    return f"{value / scale:,.{digits}f} {unit}".strip()


def short_time(nanoseconds: float, form: str = "#.3g") -> str:
    """Formats a time with the unit that suits it, with three digits or as `form` says."""
    nanoseconds = float(f"{nanoseconds:.3g}")
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:{form}}".rstrip(".") + f" {unit}"
    return f"{nanoseconds:g} ns"
