"""Tables for a terminal."""

from .peers import OPERATIONS
from .rows import Row, figure, short_time


def print_table(lines: list[tuple[str, ...]], left: int = 1) -> None:
    """Prints columns, the first `left` of them left-aligned."""
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    for line in lines:
        cells = [
            cell.ljust(width) if at < left else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths))
        ]
        print("  ".join(cells).rstrip())


def print_rows(rows: list[Row]) -> None:
    """Prints the rows of each group under its name.

    `limit` and `ours` are medians. The next column is the median of the ratios of all pairs, which
    differs from the ratio of those medians when the machine was busy.
    """
    groups = list(dict.fromkeys(row.group for row in rows))
    for group in groups:
        lines = [("operation", "limit", "ours", "median of pairs", "middle half", "target", "")]
        for row in (row for row in rows if row.group == group):
            lines.append((
                row.operation,
                "" if row.limit is None else figure(row.limit, row.unit),
                figure(row.ours, row.unit),
                "" if row.ratio is None else f"{row.ratio:.2f} ×",
                "" if row.spread is None else f"{row.spread[0]:.2f} … {row.spread[1]:.2f}",
                row.target or "",
                {None: row.note or "", True: "ok", False: "missed"}[row.is_met]))
        print(f"\n{group}")
        print_table(lines)


def print_peers(found: list[dict]) -> None:
    """Prints a table for each operation, and the missing and failed peers."""
    counts = sorted({
        count for peer in found for times in peer.get("times", {}).values() for count in times})
    for operation in OPERATIONS:
        lines = [(operation, *(f"{count:,} items" for count in counts), "durable", "how")]
        for peer in (peer for peer in found if "times" in peer):
            times = peer["times"][operation]
            cells = [short_time(times[count]) if count in times else "–" for count in counts]
            durable = {"yes": "yes", "no": "NO"}.get(peer["durable"], "?")
            lines.append((peer["name"], *cells, durable, peer["start"]))
        print()
        print_table(lines)
    print()
    for peer in found:
        if "missing" in peer:
            print(f"{peer['name']}: {peer['missing']}")
        for note in peer.get("notes", []):
            print(f"{peer['name']}, {note}")
    if any(peer.get("missing", "").startswith("not installed") for peer in found):
        print("--install-peers installs what they need")
