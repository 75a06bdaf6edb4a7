"""A server in the place of a database, which wants the password, or harms its clients.

    server.py PLACE MANNER

PLACE is the directory of its socket, whose port is 5432, or `tcp` for a free port of 127.0.0.1, or
`tcp6` for one of ::, which also takes connections of IPv4. It prints its port, then a line for each
connection and for each answer to a request for the password.

MANNER is a request for the password (`clear`, `md5`, `scram`, `both`), after whose answer it closes
the connection, or what it sends without an end: `parameters`, `notices`, `notifications`, `rows`,
`nulls`, `wide` rows, `errors`, `done`, or one `value`, or one message that begins with a `length`
and goes on slowly. With `late-` before it, it does so when the third statement arrives, and behaves
before that.
"""

import os
import socket
import struct
import sys
import threading
import time

place, manner = sys.argv[1:]


def message(kind, body=b""):
    return kind + struct.pack("!i", 4 + len(body)) + body


def request(code, body=b""):
    return message(b"R", struct.pack("!i", code) + body)


def row(*values):
    return message(b"D", struct.pack("!h", len(values)) + b"".join(
        struct.pack("!i", -1) if value is None else struct.pack("!i", len(value)) + value
        for value in values))


def columns(count):
    return message(b"T", struct.pack("!h", count) + b"".join(
        b"c\0" + struct.pack("!ihihih", 0, 0, 17, -1, -1, 1) for _ in range(count)))


def answer(*values):
    return (message(b"1") + message(b"2") + columns(len(values)) + row(*values)
            + message(b"C", b"SELECT 1\0") + READY)


READY = message(b"Z", b"I")
PARAMETERS = b"".join(message(b"S", name + b"\0" + value + b"\0") for name, value in (
    (b"server_version", b"15.0"), (b"in_hot_standby", b"off"),
    (b"default_transaction_read_only", b"off")))
REQUESTS = {
    "clear": request(3), "md5": request(5, b"salt"),
    "scram": request(10, b"SCRAM-SHA-256\0\0"),
    "both": request(10, b"SCRAM-SHA-256\0\0") + request(3)}
VERSION = b"PostgreSQL 15.0 on a machine, compiled by a compiler"
SETTINGS = [struct.pack("!q", 0), b"on", b"on", b"on", b"", b"", b"", b"", b""]


def pieces(kind):
    """What is sent without an end, in pieces that are large, so that it is fast."""
    number = 0
    start = message(b"1") + message(b"2")
    if kind in ("rows", "nulls"):
        yield start + columns(9)
        piece = row(*[b"x"] * 9) if kind == "rows" else row(*[None] * 9)
        while True:
            yield piece * 4000
    if kind == "wide":
        yield start + columns(1600)
        while True:
            yield row(*[None] * 1600) * 100
    if kind == "value":
        yield start + columns(1) + b"D" + struct.pack("!ihi", 1 << 30, 1, (1 << 30) - 10)
        while True:
            yield b"x" * (8 << 20)
    if kind == "length":
        yield start + columns(1) + b"D" + struct.pack("!ihi", (1 << 31) - 1, 1, (1 << 31) - 11)
        while True:
            yield b"x"
            time.sleep(0.01)
    piece = {
        "notices": message(b"N", b"SNOTICE\0VNOTICE\0C01000\0Mx\0\0"),
        "notifications": message(b"A", struct.pack("!i", 1) + b"c\0\0"),
        "errors": message(b"E", b"SERROR\0VERROR\0C22000\0Mx\0\0"),
        "done": message(b"C", b"SELECT 1\0")}.get(kind)
    while True:
        if piece:
            yield piece * 4000
        else:
            number += 1000
            yield b"".join(
                message(b"S", b"p%d\0%s\0" % (number + i, b"v" * 100)) for i in range(1000))


class Client:
    def __init__(self, link):
        self.link, self.file = link, link.makefile("rb")

    def next(self):
        kind = self.file.read(1)
        length = self.file.read(4)
        if len(length) < 4:
            raise ConnectionError
        return kind, self.file.read(struct.unpack("!i", length)[0] - 4)

    def start(self):
        while True:
            length, code = struct.unpack("!ii", self.file.read(8))
            self.file.read(length - 8)
            if code != 80877103:
                return
            self.link.sendall(b"N")

    def statement(self):
        while self.next()[0] != b"S":
            pass

    def flood(self, kind):
        for piece in pieces(kind):
            self.link.sendall(piece)

    def serve(self):
        self.start()
        if manner in REQUESTS:
            self.link.sendall(REQUESTS[manner])
            while True:
                kind, body = self.next()
                print(f"answer: {body}", flush=True)
                if manner != "both":
                    break
            return
        kind = manner.removeprefix("late-")
        self.link.sendall(request(0))
        if kind != manner:
            self.link.sendall(PARAMETERS + message(b"K", struct.pack("!ii", 1, 1)) + READY)
            self.statement()
            self.link.sendall(answer(VERSION))
            self.statement()
            self.link.sendall(answer(*SETTINGS))
            self.statement()
        self.flood(kind)


def serve(link):
    print("connection", flush=True)
    try:
        Client(link).serve()
    except (ConnectionError, struct.error):
        pass
    finally:
        link.shutdown(socket.SHUT_RDWR) if link.fileno() >= 0 else None
        link.close()


def serve_safely(link):
    try:
        serve(link)
    except OSError:
        pass


if place.startswith("/"):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(f"{place}/.s.PGSQL.5432")
    os.chmod(f"{place}/.s.PGSQL.5432", 0o777)
    port = 5432
else:
    listener = socket.socket(socket.AF_INET6 if place == "tcp6" else socket.AF_INET)
    if place == "tcp6":
        listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
    listener.bind(("::" if place == "tcp6" else "127.0.0.1", 0))
    port = listener.getsockname()[1]
listener.listen(64)
print(port, flush=True)
while True:
    threading.Thread(target=serve_safely, args=(listener.accept()[0],), daemon=True).start()
