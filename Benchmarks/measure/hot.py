"""The operations for every item in memory, compared with the least work that they need."""

from . import rows
from .programs import Programs, progress, run_lines

SIZES = {100: "100 B", 512: "512 B", 4096: "4 KiB", 65_536: "64 KiB", 1 << 20: "1 MiB"}


def measure(programs: Programs, is_quick: bool) -> list[rows.Row]:
    """Times all operations at every size; each pair within one process."""
    made: list[rows.Row] = []
    hot_paths = programs.paths["session-tools-hot-paths"]
    for size, title in SIZES.items():
        progress(f"hot paths, {title}")
        for result in run_lines([hot_paths, size, 11 if is_quick else 51]):
            operation = result["operation"]
            target = 1.10 if operation == "encode and seal" and size == 512 else None
            more = result["allocations"] - result["limitAllocations"]
            # Neither side is ours: this compares two of Foundation's coders.
            is_other_coder = operation.startswith("binary property list")
            group = "another coder, beside JSON" if is_other_coder else "hot paths"
            made.append(rows.of_pairs(
                f"{group}, {title}", operation, "µs", result["ours"], result["limit"], target,
                f"{more:+} allocations"))
    progress("hot paths, a refresh")
    [result] = run_lines([hot_paths, "refresh", 1000, 11 if is_quick else 51])
    made.append(rows.of_pairs(
        "sessions", result["operation"], "µs", result["ours"], result["limit"]))
    progress("")
    return made
