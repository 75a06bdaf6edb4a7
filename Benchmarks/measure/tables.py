"""Tables for a terminal."""

from .rows import Row, figure


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
    """Prints the rows of each group under its name."""
    groups = list(dict.fromkeys(row.group for row in rows))
    for group in groups:
        lines = [("operation", "limit", "ours", "ratio", "middle half", "target", "")]
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
