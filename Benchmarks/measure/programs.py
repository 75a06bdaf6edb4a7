"""The programs that are measured."""

import dataclasses
import json
import os
import pathlib
import subprocess
import sys

from .failure import Failure

HERE = pathlib.Path(__file__).resolve().parent.parent


@dataclasses.dataclass
class Programs:
    """Built programs, and the key file of all stores."""

    limit: pathlib.Path
    ours: pathlib.Path
    hot_paths: pathlib.Path
    key: pathlib.Path

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


def build(package: pathlib.Path, *products: str) -> list[pathlib.Path]:
    """Builds optimized products of a package and returns their paths."""
    command = ["swift", "build", "-c", "release", "--package-path", str(package)]
    for product in products:
        done = subprocess.run(
            [*command, "--product", product], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"{product} does not build:\n{done.stdout}")
    shown = subprocess.run(
        [*command, "--show-bin-path"], capture_output=True, text=True, check=True)
    return [pathlib.Path(shown.stdout.strip()) / product for product in products]


def python_with_nacl() -> str:
    """Returns an interpreter that can run the independent reader of the format."""
    choices = [os.environ.get("SESSION_TOOLS_PYTHON"), sys.executable, "/usr/bin/python3"]
    for python in filter(None, choices):
        command = [python, "-c", "import nacl.bindings"]
        if subprocess.run(command, capture_output=True, check=False).returncode == 0:
            return python
    raise Failure("the independent reader of the format needs PyNaCl: apt install python3-nacl")


def progress(text: str) -> None:
    """Shows the current measurement if stderr is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)
