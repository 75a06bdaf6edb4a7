"""The protocol of a peer in Python, its items and its clock; README.md describes it.

A peer is a subclass of Peer and calls main(). This file needs only the standard library.
"""

import abc
import argparse
import base64
import collections.abc
import contextlib
import ctypes
import dataclasses
import json
import os
import pathlib
import signal
import subprocess
import sys
import time

SERVICE = "com.example.benchmark"
LOST = 3
PR_SET_PDEATHSIG = 1
LIBC = ctypes.CDLL(None)
PROCESS = os.getpid()


class Failure(Exception):
    """An error with a message for the user."""


class Lost(Failure):
    """An item is missing, or has another value."""


@dataclasses.dataclass
class Description:
    name: str
    version: str
    what: str
    durable: str
    durableBecause: str
    sealed: str
    start: str
    operations: tuple[str, ...] = ("put", "get", "list", "list-again", "remove")


class Peer(abc.ABC):
    """A store, used through its own interface; all of its files are in `directory`."""

    def __init__(self, directory: pathlib.Path):
        self.directory = directory

    @staticmethod
    @abc.abstractmethod
    def description() -> Description:
        ...

    @contextlib.contextmanager
    def opened(self) -> collections.abc.Iterator[None]:
        """Opens the store for the time of the context, and creates it first if necessary."""
        yield

    @abc.abstractmethod
    def put(self, identifier: str, value: bytes) -> None:
        ...

    @abc.abstractmethod
    def get(self, identifier: str) -> bytes | None:
        ...

    @abc.abstractmethod
    def remove(self, identifier: str) -> None:
        ...

    def identifiers(self) -> collections.abc.Iterable[str]:
        """Returns all identifiers; only for a peer whose description has the operation `list`."""
        raise NotImplementedError

    def put_all(self, items: dict[str, bytes]) -> None:
        """Puts many items, all at once if the store can do that."""
        for identifier, value in items.items():
            self.put(identifier, value)

    def get_all(self, identifiers: list[str]) -> dict[str, bytes | None]:
        """Gets many items, all at once if the store can do that."""
        return {identifier: self.get(identifier) for identifier in identifiers}


# Items


def identifier_of(number: int) -> str:
    return f"item-{number:07}"


def value_of(number: int) -> bytes:
    return number.to_bytes(8, "little") + bytes((number + at * 7) & 0xFF for at in range(8, 512))


def items_of(numbers: range) -> dict[str, bytes]:
    return {identifier_of(number): value_of(number) for number in numbers}


def text_of(value: bytes) -> str:
    """Encodes a value for a peer that stores only text."""
    return base64.b64encode(value).decode()


def value_in(text: str) -> bytes:
    return base64.b64decode(text)


def random_numbers(count: int, bound: int) -> list[int]:
    """Returns pseudorandom numbers below a bound, the same as `peer.c`."""
    state, numbers = 88_172_645_463_325_252, []
    for _ in range(count):
        state = (state ^ state << 13) & 0xFFFF_FFFF_FFFF_FFFF
        state ^= state >> 7
        state = (state ^ state << 17) & 0xFFFF_FFFF_FFFF_FFFF
        numbers.append(state % bound)
    return numbers


def require_value(identifier: str, value: bytes | None, expected: bytes) -> None:
    if value != expected:
        raise Lost(f"{identifier} is lost")


# Operations


def timed_put(peer: Peer, item_count: int, count: int) -> int:
    new = items_of(range(item_count, item_count + count))
    begin = time.perf_counter_ns()
    for identifier, value in new.items():
        peer.put(identifier, value)
    return time.perf_counter_ns() - begin


def timed_get(peer: Peer, item_count: int, count: int) -> int:
    wanted = [(identifier_of(number), value_of(number))
              for number in random_numbers(count, item_count)]
    begin = time.perf_counter_ns()
    for identifier, value in wanted:
        require_value(identifier, peer.get(identifier), value)
    return time.perf_counter_ns() - begin


def timed_list(peer: Peer, item_count: int, count: int) -> int:
    begin = time.perf_counter_ns()
    listed: set[str] = set()
    for _ in range(count):
        listed = set(peer.identifiers())
    nanoseconds = time.perf_counter_ns() - begin
    if not {identifier_of(number) for number in range(item_count)} <= listed:
        raise Failure("items are missing from the list")
    return nanoseconds


def timed_list_again(peer: Peer, item_count: int, count: int) -> int:
    timed_list(peer, item_count, 1)
    return timed_list(peer, item_count, count)


def timed_remove(peer: Peer, item_count: int, count: int) -> int:
    new = [identifier_of(number) for number in range(item_count, item_count + count)]
    begin = time.perf_counter_ns()
    for identifier in new:
        try:
            peer.remove(identifier)
        # Each store has its own error for a missing item.
        except Exception as problem:
            raise Failure(f"{identifier} cannot be removed: {problem}") from problem
    return time.perf_counter_ns() - begin


TIMED = {
    "put": timed_put, "get": timed_get, "list": timed_list, "list-again": timed_list_again,
    "remove": timed_remove}


def measure(peer: Peer, item_count: int, operation: str, count: int) -> None:
    # One-time work, such as opening a connection, is done here.
    first, value = identifier_of(0), value_of(0)
    require_value(first, peer.get(first), value)
    if operation == "put":
        peer.put(first, value)
    nanoseconds = TIMED[operation](peer, item_count, count)
    print(json.dumps({"operation": operation, "count": count, "nanoseconds": nanoseconds}))


def check(peer: Peer, item_count: int) -> None:
    expected = items_of(range(item_count))
    found = peer.get_all(list(expected))
    for identifier, value in expected.items():
        require_value(identifier, found.get(identifier), value)


def sync_file_system(directory: pathlib.Path) -> None:
    """Makes all files that were written in bulk durable at once."""
    file = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    status = LIBC.syncfs(file)
    os.close(file)
    if status != 0:
        raise Failure(f"{directory} cannot be synced")


# Processes


def end_with_parent() -> None:
    """Lets the kernel kill this child, which is about to start a program, when its parent ends."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have ended before the call.
    if os.getppid() != PROCESS:
        os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def running(
    command: list[str], environment: dict[str, str], **options
) -> collections.abc.Iterator[subprocess.Popen]:
    """Runs a daemon that ends with this process, however this process ends."""
    daemon = subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, preexec_fn=end_with_parent, **options)
    try:
        yield daemon
    finally:
        daemon.terminate()
        try:
            daemon.wait(10)
        except subprocess.TimeoutExpired:
            daemon.kill()
            daemon.wait()


def run(
    command: list[str], environment: dict[str, str], given: bytes = b""
) -> subprocess.CompletedProcess:
    """Runs a program to its end; the caller checks its status."""
    return subprocess.run(
        command, env=environment, input=given, capture_output=True, check=False,
        preexec_fn=end_with_parent)


def required(done: subprocess.CompletedProcess) -> bytes:
    """Returns the output of a program that must have succeeded."""
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise Failure(f"{done.args[0]}: {said or f'it ended with status {done.returncode}'}")
    return done.stdout


def wait_until(what: str, condition: collections.abc.Callable[[], bool]) -> None:
    for _ in range(1_000):
        if condition():
            return
        time.sleep(0.01)
    raise Failure(f"timed out waiting until {what}")


# Arguments


def number(text: str) -> int:
    value = int(text)
    if not 1 <= value <= 10_000_000:
        raise ValueError
    return value


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("describe")
    for name in ("prepare", "measure", "check"):
        command = commands.add_parser(name)
        command.add_argument("directory", type=pathlib.Path)
        command.add_argument("items", type=number)
        if name == "measure":
            command.add_argument("operation", choices=TIMED)
            command.add_argument("count", type=number)
    return parser.parse_args()


def obey(options: argparse.Namespace, kind: type[Peer]) -> None:
    if options.command == "describe":
        print(json.dumps(dataclasses.asdict(kind.description()), ensure_ascii=False))
        return
    if options.command == "measure" and options.operation not in kind.description().operations:
        raise Failure(f"this peer cannot {options.operation}")
    options.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    peer = kind(options.directory.resolve())
    with peer.opened():
        if options.command == "prepare":
            peer.put_all(items_of(range(options.items)))
        elif options.command == "measure":
            measure(peer, options.items, options.operation, options.count)
        else:
            check(peer, options.items)


def leaving_with_failures(action: collections.abc.Callable[[], None]) -> None:
    # SIGTERM must end the daemons too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        action()
    except (Failure, OSError) as problem:
        print(f"{pathlib.Path(sys.argv[0]).stem}: {problem}", file=sys.stderr)
        sys.exit(LOST if isinstance(problem, Lost) else 1)


def main(kind: type[Peer]) -> None:
    leaving_with_failures(lambda: obey(parsed(), kind))
