"""A PostgreSQL server of the benchmark's own."""

import os
import pathlib
import re
import shutil
import socket
import subprocess
import tempfile
import time

from .failure import Failure
from .programs import HERE

INSTALL = "apt install postgresql libpq-dev"
# It runs the server as another user if this one is root, and ends it with this process.
KEEP = HERE.parent / "Tests" / "Services" / "DatabaseServer" / "keep.py"
USER = "postgres" if os.geteuid() == 0 else ""
# Everything that makes commits durable has its default. The connections are for 50 machines.
SETTINGS = """
listen_addresses = '127.0.0.1'
max_connections = 200
log_line_prefix = '%p '
log_parameter_max_length = 0
"""


def missing() -> str | None:
    """Returns what has to be installed, if something has to be."""
    if _programs() is None or shutil.which("psql") is None or shutil.which("pkg-config") is None:
        return INSTALL
    found = subprocess.run(["pkg-config", "--exists", "libpq"], check=False)
    return INSTALL if found.returncode else None


def _programs() -> pathlib.Path | None:
    """Where Debian has the server's programs, of the newest version that is installed."""
    versions = pathlib.Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(versions, key=lambda path: int(path.parent.parent.name), default=None)
    return newest and newest.parent


class Server:
    """A server with its files in a directory of its own, a socket and a TCP port."""

    def __init__(self, parent: pathlib.Path):
        """Makes and starts the server in a new directory, which is removed with it."""
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="st-pg-", dir=parent))
        if USER:
            shutil.chown(self.directory, USER, USER)
        self.log = self.directory / "log"
        programs, data = _programs(), self.directory / "data"
        made = subprocess.run(
            [*self._as_user(), str(programs / "initdb"), f"--pgdata={data}",
             "--username=postgres", "--encoding=UTF8", "--no-locale", "--auth=trust",
             "--no-instructions"], cwd="/", capture_output=True, text=True, check=False)
        if made.returncode != 0:
            shutil.rmtree(self.directory)
            raise Failure(f"initdb: {made.stderr.strip()}")
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        with open(data / "postgresql.conf", "a", encoding="utf-8") as file:
            file.write(
                f"{SETTINGS}port = {self.port}\n"
                f"unix_socket_directories = '{self.directory}'\n")
        self.process = subprocess.Popen(
            ["/usr/bin/python3", KEEP, USER, self.directory, "/bin/sh", "-c",
             f"exec {programs}/postgres -D {data} >>{self.log} 2>&1"], stdin=subprocess.PIPE)
        self._wait_until_ready()

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_) -> None:
        # The directory is removed, too.
        self.process.stdin.close()
        self.process.wait()

    @staticmethod
    def _as_user() -> list[str]:
        if not USER:
            return []
        return ["/usr/bin/setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]

    def _wait_until_ready(self) -> None:
        limit = time.monotonic() + 30
        while True:
            try:
                self.ask("SELECT 1")
                return
            except Failure as problem:
                if time.monotonic() > limit or self.process.poll() is not None:
                    self.__exit__()
                    raise Failure(f"the server does not start: {problem}") from None
                time.sleep(0.05)

    @property
    def socket(self) -> str:
        """The address of the socket."""
        return f"host={self.directory} port={self.port} user=postgres dbname=postgres"

    @property
    def tcp(self) -> str:
        """The address of the port."""
        return f"host=127.0.0.1 port={self.port} user=postgres dbname=postgres sslmode=disable"

    @property
    def logged(self) -> str:
        """An address with which all statements are logged."""
        return f"{self.socket} options='-c log_statement=all'"

    def ask(self, statement: str) -> str:
        """Runs a statement by psql."""
        done = subprocess.run(
            ["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-c", statement, self.socket],
            capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise Failure(f"psql: {done.stderr.strip()}")
        return done.stdout.strip()

    def cost(self, run) -> tuple[float, int]:
        """Returns what a function costs the server: the processor time in seconds and the bytes of
        the write-ahead log.

        The function's connections have ended when it returns, so that their processes are counted.
        """
        time, position = self._processor_seconds(), self.ask("SELECT pg_current_wal_lsn()")
        run()
        written = self.ask(f"SELECT pg_current_wal_lsn() - '{position}'::pg_lsn")
        return self._processor_seconds() - time, int(written)

    def _processor_seconds(self) -> float:
        """The time of all processes of the server, also of those that have ended."""
        main = (self.directory / "data" / "postmaster.pid").read_text().split()[0]
        children = pathlib.Path(f"/proc/{main}/task/{main}/children").read_text().split()
        ticks = 0
        for process in (main, *children):
            try:
                text = pathlib.Path(f"/proc/{process}/stat").read_text()
            except FileNotFoundError:
                continue
            # Behind the name in brackets, fields 14 and 15 are its own, 16 and 17 those of children
            # that have ended.
            fields = text.rpartition(")")[2].split()
            ticks += sum(map(int, fields[11:15]))
        return ticks / os.sysconf("SC_CLK_TCK")

    def statements(self, run) -> dict[int, list[tuple[str, str]]]:
        """Returns the statements that a function causes: for each connection, by its process, their
        names and texts in their order.

        Only statements of connections with the address `logged` are known.
        """
        start = self.log.stat().st_size
        run()
        with open(self.log, encoding="utf-8") as file:
            file.seek(start)
            # The lines of a statement but the first begin with a tab.
            lines = re.sub(r"\n\t", " ", file.read()).splitlines()
        found: dict[int, list[tuple[str, str]]] = {}
        for line in lines:
            match = re.match(r"(\d+) LOG: +(?:execute ([^:]+)|statement): (.*)", line)
            if match:
                process, name, text = match.groups()
                found.setdefault(int(process), []).append((name or "", " ".join(text.split())))
        return found
