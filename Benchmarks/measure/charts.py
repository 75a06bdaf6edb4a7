"""All charts of a report, as SVG with only the standard library."""

import pathlib

from . import hot, line_chart, ratio_chart, store
from .rows import Row


def draw(folder: pathlib.Path, rows: list[Row], peers: list[dict]) -> None:
    """Draws the charts for which there are figures."""
    ratio_chart.write(
        folder / "store.svg", "Time beside the same work in C (1 × = C)",
        store.GROUP, "multiple of the time in C; shorter is better",
        [row for row in rows if row.group == store.GROUP])
    ratio_chart.write(
        folder / "hot-paths.svg", "Time beside the coder or libsodium alone (1 × = alone)",
        "hot paths in memory, items of 512 bytes",
        "multiple of the time alone; shorter is better",
        [row for row in rows if row.group == f"hot paths, {hot.SIZES[512]}"])
    measured = [peer for peer in peers if "times" in peer]
    # What a store does not sync makes its puts faster, but not its gets.
    losing = {peer["name"] for peer in measured if peer["durable"] != "yes"}
    for operation, hint, dashed in (
        ("put", "; dashed: a power cut may undo it", losing), ("get", "", set()),
    ):
        line_chart.write(
            folder / f"peers-{operation}.svg", f"A {operation} beside other stores of secrets",
            f"time for one {operation}, logarithmic; lower is better{hint}",
            "items in the store, logarithmic",
            {peer["name"]: peer["times"][operation] for peer in measured}, dashed)
