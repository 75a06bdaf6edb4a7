"""Charts as SVG, with only the standard library."""

import html
import math
import pathlib

from .rows import Row

WIDTH = 760
TEXT = "font-family='system-ui, sans-serif' font-size='13'"
COLORS = (
    "#d1495b", "#1f6f8b", "#66a182", "#edae49", "#6a4c93", "#8d6e63", "#00798c", "#c06c84",
    "#5f7c8a", "#b5651d", "#2e4057", "#9c89b8", "#3f7d20", "#a23e48")


def _svg(height: int, title: str, body: list[str]) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height}' "
        f"role='img' aria-label='{html.escape(title, quote=True)}'>\n"
        f"<rect width='{WIDTH}' height='{height}' fill='#ffffff'/>\n"
        f"<text x='16' y='26' {TEXT} font-weight='600' fill='#222'>{html.escape(title)}</text>\n"
        + "\n".join(body) + "\n</svg>\n")


def write_ratios(path: pathlib.Path, title: str, rows: list[Row]) -> None:
    """Draws bars of the ratios to the limit, in another color where the target is missed."""
    rows = [row for row in rows if row.ratio is not None]
    if not rows:
        return
    largest = max(2.0, *(row.ratio for row in rows))
    left, top, step = 270, 48, 24
    scale = (WIDTH - left - 70) / largest
    bottom = top + step * len(rows)
    body = []
    for at in range(int(largest) + 1):
        x = left + at * scale
        color = "#222" if at == 1 else "#ddd"
        body.append(
            f"<line x1='{x:.1f}' y1='{top - 4}' x2='{x:.1f}' y2='{bottom}' stroke='{color}'/>")
        body.append(
            f"<text x='{x:.1f}' y='{bottom + 16}' {TEXT} fill='#555' text-anchor='middle'>"
            f"{at} ×</text>")
    for at, row in enumerate(rows):
        y = top + at * step
        body.append(
            f"<text x='{left - 8}' y='{y + 14}' {TEXT} fill='#222' text-anchor='end'>"
            f"{html.escape(row.operation)}</text>")
        color = "#66a182" if row.is_met is not False else "#d1495b"
        body.append(
            f"<rect x='{left}' y='{y + 2}' width='{row.ratio * scale:.1f}' height='{step - 8}' "
            f"fill='{color}'/>")
        body.append(
            f"<text x='{left + row.ratio * scale + 6:.1f}' y='{y + 14}' {TEXT} fill='#222'>"
            f"{row.ratio:.2f} ×</text>")
    path.write_text(_svg(bottom + 30, title, body))


def write_lines(path: pathlib.Path, title: str, series: dict[str, dict[int, float]]) -> None:
    """Draws lines of nanoseconds by number of items, both axes logarithmic; the first is wider."""
    points = [(count, time) for line in series.values() for count, time in line.items()]
    if not points:
        return
    left, top, right, bottom = 70, 48, WIDTH - 210, 380
    least_x, most_x = (math.log10(value) for value in (
        min(count for count, _ in points), max(count for count, _ in points)))
    least_y = math.floor(math.log10(min(time for _, time in points)))
    most_y = math.ceil(math.log10(max(time for _, time in points)))
    width = max(most_x - least_x, 1e-9)

    def place(count: int, time: float) -> tuple[float, float]:
        return (
            left + (math.log10(count) - least_x) / width * (right - left),
            bottom - (math.log10(time) - least_y) / max(most_y - least_y, 1) * (bottom - top))

    body = []
    for power in range(least_y, most_y + 1):
        _, y = place(10 ** least_x, 10.0 ** power)
        body.append(f"<line x1='{left}' y1='{y:.1f}' x2='{right}' y2='{y:.1f}' stroke='#ddd'/>")
        body.append(
            f"<text x='{left - 8}' y='{y + 4:.1f}' {TEXT} fill='#555' text-anchor='end'>"
            f"{_time(10.0 ** power)}</text>")
    for count in sorted({count for count, _ in points}):
        x, _ = place(count, 10.0 ** least_y)
        body.append(
            f"<text x='{x:.1f}' y='{bottom + 18}' {TEXT} fill='#555' text-anchor='middle'>"
            f"{count:,}</text>")
    ends = sorted(
        (place(*max(line.items())), name) for name, line in series.items() if line)
    # Labels are placed one below the other where lines end at the same number of items.
    labels, last = {}, (-math.inf, -math.inf)
    for (x, y), name in ends:
        last = (x, max(y, last[1] + 16) if x == last[0] else y)
        labels[name] = last[1]
    for at, (name, line) in enumerate(series.items()):
        if not line:
            continue
        color = COLORS[at % len(COLORS)]
        path_points = [place(*point) for point in sorted(line.items())]
        body.append(
            f"<polyline points='{' '.join(f'{x:.1f},{y:.1f}' for x, y in path_points)}' "
            f"fill='none' stroke='{color}' stroke-width='{3 if at == 0 else 1.5}'/>")
        body.extend(
            f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3' fill='{color}'/>" for x, y in path_points)
        x, y = path_points[-1]
        body.append(
            f"<text x='{x + 10:.1f}' y='{labels[name] + 4:.1f}' {TEXT} fill='{color}'>"
            f"{html.escape(name)}</text>")
    height = int(max(bottom + 34, *(y + 20 for y in labels.values())))
    path.write_text(_svg(height, title, body))


def _time(nanoseconds: float) -> str:
    for unit, scale in (("s", 1e9), ("ms", 1e6), ("µs", 1e3)):
        if nanoseconds >= scale:
            return f"{nanoseconds / scale:g} {unit}"
    return f"{nanoseconds:g} ns"
