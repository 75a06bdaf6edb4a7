"""A chart of bars: our times as multiples of the limit's."""

import pathlib

from . import svg
from .rows import Row

TOP, STEP, BAR = 124, 26, 14
# The approximate width of a letter, with the widest of the usual fonts.
LETTER = 7.8


def write(path: pathlib.Path, title: str, subtitle: str, axis: str, rows: list[Row]) -> None:
    """Draws a bar for each row that has a ratio, with the middle half and the target as marks."""
    rows = [row for row in rows if row.ratio is not None]
    if not rows:
        return
    left = svg.MARGIN + 12 + LETTER * max(len(row.operation) for row in rows)
    ratio_end, right = svg.WIDTH - 152, svg.WIDTH - 232
    most = 1.02 * max(1.2, *(
        value for row in rows for value in (row.ratio, row.spread[1], row.largest_ratio or 0)))
    bottom = TOP + STEP * len(rows)

    def place(ratio: float) -> float:
        return left + ratio / most * (right - left)

    body = _legend() + [
        svg.text(ratio_end, TOP - 14, "measured", "quiet end"),
        svg.text(svg.WIDTH - svg.MARGIN, TOP - 14, "target", "quiet end")]
    step = next(step for step in (0.25, 0.5, 1, 2, 5, 10, 20, 50, 1e9) if most / step <= 6)
    for at in range(int(most / step) + 1):
        x = place(at * step)
        body.append(svg.line(x, TOP - 4, x, bottom, "grid"))
        body.append(svg.text(x, bottom + 18, f"{at * step:g} ×", "quiet middle"))
    for at, row in enumerate(rows):
        body += _bar(row, TOP + at * STEP, place, left, ratio_end)
    body.append(svg.line(place(1), TOP - 4, place(1), bottom, "ink", 1.5))
    body.append(svg.text((left + right) / 2, bottom + 42, axis, "quiet middle"))
    svg.write(path, bottom + 60, title, subtitle, body)


def _bar(row: Row, y: float, place, left: float, ratio_end: float) -> list[str]:
    middle, baseline = y + STEP / 2, y + STEP / 2 + 4.5
    kind = {None: "plain", True: "met", False: "missed"}[row.is_met]
    missed = " strong" if row.is_met is False else ""
    parts = [
        svg.text(left - 10, baseline, row.operation, "end"),
        f"<rect x='{left:.1f}' y='{middle - BAR / 2:.1f}' width='{place(row.ratio) - left:.1f}' "
        f"height='{BAR}' rx='2' class='{kind}'/>",
        svg.text(ratio_end, baseline, f"{row.ratio:.2f} ×", f"end{missed}")]
    if row.pairs > 1:
        parts += _middle_half(*map(place, row.spread), middle)
    if row.target:
        note = f"{row.target} missed" if missed else row.target
        parts.append(svg.text(svg.WIDTH - svg.MARGIN, baseline, note, f"end{missed}"))
    if row.largest_ratio:
        parts.append(_target(place(row.largest_ratio), middle))
    return parts


def _target(x: float, middle: float) -> str:
    return svg.line(x, middle - STEP / 2 + 2, x, middle + STEP / 2 - 2, "ink", 3)


def _middle_half(x1: float, x2: float, middle: float) -> list[str]:
    return [
        svg.line(x1, middle, x2, middle, "ink"),
        *(svg.line(x, middle - 3, x, middle + 3, "ink") for x in (x1, x2))]


def _legend() -> list[str]:
    y, x = 74, svg.MARGIN
    parts = []
    for kind, name, width in (
        ("met", "target met", 116), ("missed", "target missed", 138), ("plain", "no target", 110),
    ):
        parts.append(f"<rect x='{x}' y='{y - 6}' width='16' height='12' rx='2' class='{kind}'/>")
        parts.append(svg.text(x + 22, y + 4.5, name, "quiet"))
        x += width
    parts += [_target(x + 4, y), svg.text(x + 12, y + 4.5, "target", "quiet")]
    x += 78
    label = svg.text(x + 28, y + 4.5, "middle half of pairs", "quiet")
    return [*parts, *_middle_half(x, x + 20, y), label]
