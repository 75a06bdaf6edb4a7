#!/usr/bin/python3
"""FIDO2 security keys in software, which speak CTAPHID over Unix sockets; for tests.

Reads lines from standard input: a directory and, behind a tab, the PIN of the new key, which may be
empty. Serves a key for each at DIRECTORY/socket, and writes "ready". A directory has further files:

    state     what the key keeps; its PIN, for instance
    behavior  how it behaves from the next command on, as JSON: {"touch": "never"}; read again
              while it waits. It may be replaced at any time
    log       what has happened, a line each

Ends with its input.
"""

import select
import socket
import struct
import sys
import threading
import time

from authenticator import Authenticator, Refused

INIT, CBOR, CANCEL, KEEPALIVE, ERROR = 0x06, 0x10, 0x11, 0x3B, 0x3F
TOUCH_NEEDED = 2
OPERATION_DENIED, KEEPALIVE_CANCEL, USER_ACTION_TIMEOUT = 0x27, 0x2D, 0x2F


class Connection:
    """Messages in reports of 64 bytes."""

    def __init__(self, client):
        self.client = client
        self.buffer = b""

    def report(self, timeout=None):
        while len(self.buffer) < 64:
            if timeout is not None and not select.select([self.client], [], [], timeout)[0]:
                return None
            received = self.client.recv(4096)
            if not received:
                raise EOFError
            self.buffer += received
        report, self.buffer = self.buffer[:64], self.buffer[64:]
        return report

    def message(self):
        first = self.report()
        byte_count = struct.unpack(">H", first[5:7])[0]
        data = first[7:]
        while len(data) < byte_count:
            data += self.report()[5:]
        return first[:4], first[4] & 0x7F, data[:byte_count]

    def send(self, channel, command, data):
        head = bytes([0x80 | command]) + struct.pack(">H", len(data))
        reports, data = [channel + head + data[:57]], data[57:]
        while data:
            reports.append(channel + bytes([len(reports) - 1]) + data[:59])
            data = data[59:]
        self.client.sendall(b"".join(report.ljust(64, b"\0") for report in reports))


class Key:
    def __init__(self, directory, pin):
        self.authenticator = Authenticator(directory, pin, self.wait)
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{directory}/socket")
        self.listener.listen(16)
        self.waits = 0

    def serve(self):
        while True:
            client, _ = self.listener.accept()
            try:
                self.converse(Connection(client))
            except (EOFError, ConnectionError):
                pass
            client.close()

    def converse(self, connection):
        self.connection = connection
        while True:
            self.channel, command, data = connection.message()
            if command == INIT:
                connection.send(self.channel, INIT, data[:8] + b"\0\0\0\1\2\1\0\0\x0c")
            elif command == CBOR:
                connection.send(self.channel, CBOR, self.authenticator.answer(data[0], data[1:]))
            elif command != CANCEL:
                connection.send(self.channel, ERROR, b"\1")

    def wait(self, what):
        """Waits for a person, and reports that to the host ten times a second."""
        key = self.authenticator
        key.log(f"waiting for {what}")
        self.waits += 1
        end = time.monotonic() + 30
        start = time.monotonic()
        while time.monotonic() < end:
            touch = key.behavior("touch", "at once")
            if touch == "once more" and self.waits == 1:
                return
            if touch == "hangs up":
                raise EOFError
            if touch == "refused":
                raise Refused(OPERATION_DENIED)
            if touch == "at once" or touch == "late" and time.monotonic() > start + 1:
                return
            try:
                self.connection.send(self.channel, KEEPALIVE, bytes([TOUCH_NEEDED]))
            except ConnectionError:
                pass  # What the host wrote before it hung up is still to be read.
            report = self.connection.report(timeout=0.1)
            if report and report[4] & 0x7F == CANCEL:
                key.log("cancelled")
                raise Refused(KEEPALIVE_CANCEL)
        raise Refused(USER_ACTION_TIMEOUT)


for line in sys.stdin:
    key = Key(*line.rstrip("\n").split("\t"))
    threading.Thread(target=key.serve, daemon=True).start()
    print("ready", flush=True)
