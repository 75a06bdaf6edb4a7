"""A chart of lines: the time of an operation by the number of items, for several stores."""

import math
import pathlib

from . import svg
from .rows import short_time

LEFT, TOP, HEIGHT = 76, 96, 370
RIGHT = svg.WIDTH - 300
LABEL, VALUE = RIGHT + 36, svg.WIDTH - svg.MARGIN
# The distance of two labels, and how much the first holds its place against others.
GAP, WEIGHT = 19, 1000


def write(
    path: pathlib.Path, title: str, subtitle: str, axis: str,
    series: dict[str, dict[int, float]], dashed: set[str],
) -> None:
    """Draws nanoseconds by number of items, both axes logarithmic; the first line is ours.

    Lines of the stores in `dashed` are broken.
    """
    series = {name: dict(sorted(times.items())) for name, times in series.items() if times}
    if not series:
        return
    counts = sorted({count for times in series.values() for count in times})
    times = [time for its in series.values() for time in its.values()]
    low, high = math.log10(min(times)) - 0.15, math.log10(max(times)) + 0.15
    bottom = TOP + max(HEIGHT, GAP * len(series))
    width = math.log10(counts[-1] / counts[0]) or 1

    def place(count: int, time: float) -> tuple[float, float]:
        return (
            LEFT + math.log10(count / counts[0]) / width * (RIGHT - LEFT),
            bottom - (math.log10(time) - low) / (high - low) * (bottom - TOP))

    body = [svg.text(VALUE, TOP - 14, f"at {counts[-1]:,} items", "quiet end")]
    for power in range(math.ceil(low), math.floor(high) + 1):
        _, y = place(counts[0], 10 ** power)
        body.append(svg.line(LEFT, y, RIGHT, y, "grid"))
        body.append(svg.text(LEFT - 10, y + 4.5, short_time(10 ** power, "g"), "quiet end"))
    for count in counts:
        x, _ = place(count, times[0])
        body.append(svg.line(x, TOP, x, bottom, "grid"))
        body.append(svg.text(x, bottom + 20, f"{count:,}", "quiet middle"))
    body.append(svg.text((LEFT + RIGHT) / 2, bottom + 44, axis, "quiet middle"))
    points = {name: [place(*point) for point in its.items()] for name, its in series.items()}
    labels = _spread({name: its[-1][1] for name, its in points.items()}, TOP + 6, bottom - 6)
    # Our line is drawn last, over all others.
    for at, name in reversed(list(enumerate(series))):
        body += [
            f"<g class='c{at % len(svg.COLORS)}'>",
            *_line(points[name], at == 0, "6 4" if name in dashed else "none"),
            *_label(name, series[name], counts[-1], points[name][-1], labels[name], at == 0),
            "</g>"]
    svg.write(path, bottom + 62, title, subtitle, body)


def _line(points: list[tuple[float, float]], is_ours: bool, dashes: str) -> list[str]:
    return [
        svg.path_of(points, 4 if is_ours else 1.75, dashes),
        *(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{5 if is_ours else 3}' fill='currentColor'/>"
          for x, y in points)]


def _label(
    name: str, times: dict[int, float], last_count: int, end: tuple[float, float], y: float,
    is_ours: bool,
) -> list[str]:
    """Returns the name and the last time, with a thin line from the end of the store's own line."""
    count, time = max(times.items())
    value = short_time(time) if count == last_count else f"{short_time(time)} at {count:,}"
    kind = "named strong" if is_ours else "named"
    bend = [(RIGHT + 8, end[1]), (LABEL - 12, y), (LABEL - 4, y)]
    return [
        svg.path_of([end, *bend], 1, "none" if count == last_count else "1 3"),
        svg.text(LABEL, y + 4.5, name, kind), svg.text(VALUE, y + 4.5, value, f"{kind} end")]


def _spread(wanted: dict[str, float], least: float, most: float) -> dict[str, float]:
    """Returns places for labels, as near as possible to those wanted and at least `GAP` apart.

    Labels that would collide form a block, which is centered on the places that its labels want.
    """
    ours = next(iter(wanted))
    names = sorted(wanted, key=wanted.get)
    # Without the gaps of the labels before, the places of a block's labels are all the same.
    blocks: list[tuple[float, float, int]] = []
    for at, name in enumerate(names):
        place, weight, size = wanted[name] - at * GAP, WEIGHT if name == ours else 1, 1
        while blocks and blocks[-1][0] > place:
            before, its_weight, its_size = blocks.pop()
            place = (before * its_weight + place * weight) / (its_weight + weight)
            weight, size = weight + its_weight, size + its_size
        blocks.append((place, weight, size))
    last = most - (len(names) - 1) * GAP
    places = [min(max(place, least), last) for place, _, size in blocks for _ in range(size)]
    return {name: place + at * GAP for at, (name, place) in enumerate(zip(names, places))}
