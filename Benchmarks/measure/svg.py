"""What all charts have in common: a page in the reader's light or dark theme, text and lines."""

import html
import pathlib

WIDTH = 800
MARGIN = 20
# The first color is for our own line; neighbors differ as much as possible. The second row is for a
# dark page. Each has a contrast of at least 4.5 to its page.
COLORS = (
    ("#2f6dd3", "#7faefd"), ("#c13c39", "#ff857b"), ("#548108", "#89c240"), ("#924db8", "#d28bfb"),
    ("#007baa", "#23bcfe"), ("#966700", "#e39f08"), ("#6d5cce", "#a7a1fc"), ("#0d8750", "#2dcd7f"),
    ("#ad4193", "#f17fd3"), ("#7d7404", "#bfb213"), ("#00808e", "#1cc3d7"), ("#bb3a6d", "#fd7eaa"),
    ("#118376", "#1ec8b4"), ("#af5504", "#fd8b3b"))


def _theme(page: str, ink: str, quiet: str, grid: str, bars: tuple[str, str, str], row: int) -> str:
    plain, met, missed = bars
    colors = " ".join(f".c{at}{{color:{both[row]}}}" for at, both in enumerate(COLORS))
    return (
        f".page{{fill:{page}}} text{{fill:{ink};stroke:{page}}} .quiet{{fill:{quiet}}} "
        f".ink{{stroke:{ink}}} .grid{{stroke:{grid}}} .plain{{fill:{plain}}} .met{{fill:{met}}} "
        f".missed{{fill:{missed}}} .named{{fill:currentColor}} {colors}")


# A halo in the page's color behind the letters keeps them readable over a line.
STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:13px;stroke-width:4px;stroke-linejoin:round;"
    "paint-order:stroke} .title{font-size:16px} .strong{font-weight:700} .end{text-anchor:end} "
    ".middle{text-anchor:middle}\n"
    + _theme("#ffffff", "#1f2328", "#59636e", "#d9dee3", ("#8fa3b8", "#4f9d69", "#d1495b"), 0)
    + "\n@media (prefers-color-scheme:dark){"
    + _theme("#0d1117", "#e6edf3", "#9aa4af", "#2b323b", ("#66788c", "#4f9d69", "#e5626f"), 1)
    + "}")


def write(path: pathlib.Path, height: float, title: str, subtitle: str, body: list[str]) -> None:
    """Writes a chart with its title."""
    name = html.escape(f"{title}: {subtitle}", quote=True)
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {WIDTH} {height:.0f}' role='img' "
        f"aria-label='{name}'>", f"<style>\n{STYLE}\n</style>",
        f"<rect class='page' width='{WIDTH}' height='{height:.0f}' rx='8'/>",
        text(MARGIN, 32, title, "title strong"), text(MARGIN, 53, subtitle, "quiet"), *body,
        "</svg>"]
    path.write_text("\n".join(parts) + "\n")


def text(x: float, y: float, content: str, kind: str = "") -> str:
    """Returns text whose baseline is at `y`."""
    return f"<text x='{x:.1f}' y='{y:.1f}' class='{kind}'>{html.escape(content)}</text>"


def line(x1: float, y1: float, x2: float, y2: float, kind: str, width: float = 1) -> str:
    """Returns a line in the color of its kind."""
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' class='{kind}' "
        f"stroke-width='{width:g}'/>")


def path_of(points: list[tuple[float, float]], width: float, dashes: str = "none") -> str:
    """Returns a line through points, in the color of its group."""
    places = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return (
        f"<polyline points='{places}' fill='none' stroke='currentColor' stroke-width='{width:g}' "
        f"stroke-dasharray='{dashes}' stroke-linejoin='round'/>")
