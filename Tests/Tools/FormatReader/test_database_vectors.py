#!/usr/bin/env python3
"""Runs the reader over test vectors: test_database_vectors.py VECTORDIR

VECTORDIR/README.md describes their form.
"""

import sys

import database_rows
from sealed_store import Credentials, StoreError
from test_vectors import (
    EXPECTATIONS, ONCE, Failure, Vector, check_list, matches, run_all, split_name)

EXPECTED = {**EXPECTATIONS, "key missing": "key_missing"}
MANY = {"named-key", "item", "read"}


class DatabaseVector:
    def __init__(self, text):
        head, _, payload = text.partition("\n\n")
        self.fields, self.header, self.rows = {}, None, []
        for line in head.split("\n"):
            key, colon, value = line.partition(": ")
            if not colon or key not in ONCE | MANY or (key in ONCE and key in self.fields):
                raise Failure(f"header line not understood: {line}")
            self.fields.setdefault(key, []).append(value)
        self.lines = payload.split("\n")
        if self.lines.pop() != "" or self.expect not in EXPECTED:
            raise Failure("no line feed at the end, or an unknown expectation")
        self._parse()

    # The same kinds of keys as in the vectors of files.
    credentials = Vector.credentials

    @property
    def expect(self):
        return self.fields["expect"][0]

    def _take(self, word):
        found, *columns = self.lines.pop(0).split(" ")
        if found != word + ":":
            raise Failure(f"{found} instead of {word}")
        return columns

    def _bytes(self, size):
        rows = -(-size // 32)
        data, self.lines = bytes.fromhex("".join(self.lines[:rows])), self.lines[rows:]
        if len(data) != size:
            raise Failure("a length that does not fit")
        return data

    def _parse(self):
        *columns, size = map(int, self._take("header"))
        self.header = database_rows.HeaderRow(*columns, self._bytes(size))
        while self.lines:
            ns, shard, tag, version, epoch, gone, write, nonce = self._take("row")
            texts = [b"" if text == "-" else bytes.fromhex(text)
                     for text in (ns, tag, write, nonce)]
            parts = [self._bytes(int(*self._take(part))) for part in ("name", "value")]
            self.rows.append(database_rows.Row(texts[0], int(shard), texts[1], int(version),
                                               int(epoch), gone == "1", texts[2], texts[3], *parts))

    def run(self):
        wanted = EXPECTED[self.expect]
        try:
            database = database_rows.Database(self.header, self.rows,
                                              Credentials(**self.credentials()))
        except StoreError as problem:
            if problem.kind != wanted:
                raise Failure(f"opening gave {problem.kind}: {problem}") from None
            if self.fields.keys() & {"item", "read"}:
                raise Failure(f"opening failed although more was expected: {problem}") from None
            return
        check_list(self.fields, database, wanted)
        for line in self.fields.get("read", []) + self.fields.get("item", []):
            name, answer = split_name(line)
            got = self._read(database, name)
            if got != answer and (isinstance(got, str) or not matches(got, answer)):
                raise Failure(f"reading {name} gave {got!r}")

    @staticmethod
    def _read(database, name):
        try:
            return database.read(name)
        except StoreError as problem:
            return "absent" if problem.kind == "not_found" else problem.kind.replace("_", "-")


if __name__ == "__main__":
    sys.exit(run_all(
        sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__),
        lambda text: DatabaseVector(text).run()))
