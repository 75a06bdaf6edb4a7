"""The programs that are measured."""

import dataclasses
import json
import os
import pathlib
import shutil
import subprocess
import sys

from .failure import Failure

HERE = pathlib.Path(__file__).resolve().parent.parent
# The package of each program.
PACKAGES = {
    "store-limit": HERE, "store-workload": HERE, "database-limit": HERE, "database-workload": HERE,
    "session-tools-hot-paths": HERE.parent, "SessionToolsSessionWorker": HERE.parent}


@dataclasses.dataclass
class Programs:
    """The built programs by their names, and the key file of all stores."""

    paths: dict[str, pathlib.Path]
    key: pathlib.Path

    @property
    def limit(self) -> pathlib.Path:
        """The program in C."""
        return self.paths["store-limit"]

    @property
    def ours(self) -> pathlib.Path:
        """The program that does the same with a sealed store."""
        return self.paths["store-workload"]

    def run(self, program: pathlib.Path, operation: str, store: pathlib.Path, *rest) -> dict:
        """Runs an operation on a store and returns its measurement."""
        return run_json([program, operation, store, self.key, *rest])


def run_lines(command: list) -> list[dict]:
    """Runs a program that prints lines of JSON."""
    done = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        said = done.stderr.strip() or f"the program ended with status {done.returncode}"
        raise Failure(f"{pathlib.Path(command[0]).name} {command[1]}: {said}")
    return [json.loads(line) for line in done.stdout.splitlines()]


def run_json(command: list) -> dict:
    """Runs a program that prints one line of JSON."""
    lines = run_lines(command)
    if len(lines) != 1:
        raise Failure(f"{pathlib.Path(command[0]).name} printed {len(lines)} lines instead of one")
    return lines[0]


def build(products: list[str]) -> dict[str, pathlib.Path]:
    """Builds optimized programs, which are products of `PACKAGES`, and returns their paths."""
    if shutil.which("swift") is None:
        raise Failure("there is no program \"swift\" in PATH: install Swift from swift.org/install")
    return {product: _build(product, PACKAGES[product]) for product in products}


def _build(product: str, package: pathlib.Path) -> pathlib.Path:
    say(f"building {product}")
    command = ["swift", "build", "-c", "release", "--package-path", str(package)]
    lines = []
    with subprocess.Popen(
        [*command, "--product", product], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout:
            lines.append(line)
            progress(line.strip())
    progress("")
    if process.returncode != 0:
        raise Failure(f"{product} does not build:\n{''.join(lines)}")
    shown = subprocess.run(
        [*command, "--show-bin-path"], capture_output=True, text=True, check=True)
    return pathlib.Path(shown.stdout.strip()) / product


def python_with_nacl() -> str:
    """Returns an interpreter that can run the independent reader of the format."""
    choices = [os.environ.get("SESSION_TOOLS_PYTHON"), sys.executable, "/usr/bin/python3"]
    for python in filter(None, choices):
        command = [python, "-c", "import nacl.bindings"]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    raise Failure("the independent reader of the format needs PyNaCl: apt install python3-nacl")


def progress(text: str) -> None:
    """Shows in one line what is done now, if stderr is a terminal."""
    if sys.stderr.isatty():
        # A longer line would wrap, and the next could not replace it.
        shown = text[:shutil.get_terminal_size().columns - 1]
        print(f"\r\033[K{shown}", end="", file=sys.stderr, flush=True)


def say(text: str) -> None:
    """Says what is done now, in a line that stays."""
    progress("")
    print(text, file=sys.stderr, flush=True)
