#!/usr/bin/env python3
"""Runs the reader over test vectors: test_vectors.py VECTORDIR

VECTORDIR/README.md describes their form.
"""

import hashlib
import os
import sys
import tempfile

import sealed_store

EXPECTATIONS = {"success": None, "wrong key": "wrong_key", "corrupt": "corrupt",
                "not found": "not_found",
                "refused": "refused_parameters", "unsupported version": "unsupported_version"}
ONCE = {"expect", "comment", "raw-key", "passphrase", "passphrase-hex", "recipient-key",
        "security-key"}
MANY = {"named-key", "item", "read", "finding"}
FINDINGS = {"header", "header copy", "rotation", "mark", "journal", "tail"}


class Failure(Exception):
    pass


def part(text):
    return None if text == "-" else bytes.fromhex(text).decode()


def split_name(text):
    words = text.split(" ")
    if len(words) != 5:
        raise Failure(f"not five words: {text}")
    return sealed_store.Name(*map(part, words[:4])), words[4]


def matches(value, wanted):
    if wanted.startswith("blake2b:"):
        return hashlib.blake2b(value, digest_size=32).hexdigest() == wanted[8:]
    return value.hex() == ("" if wanted == "empty" else wanted)


class Vector:
    def __init__(self, text):
        head, _, payload = text.partition("\n\n")
        self.fields, self.files = {}, {}
        for line in head.split("\n"):
            key, colon, value = line.partition(": ")
            if not colon or key not in ONCE | MANY or (key in ONCE and key in self.fields):
                raise Failure(f"header line not understood: {line}")
            self.fields.setdefault(key, []).append(value)
        if self.expect not in EXPECTATIONS or not FINDINGS.issuperset(self.fields.get("finding",
                                                                                      [])):
            raise Failure("unknown expectation or finding")
        lines = payload.split("\n")
        if lines.pop() != "":
            raise Failure("the last line does not end with a line feed")
        while lines:
            word, name, size = lines.pop(0).split(" ")
            rows = -(-int(size) // 32)
            data, lines = bytes.fromhex("".join(lines[:rows])), lines[rows:]
            if word != "file:" or len(data) != int(size) or name in self.files or "/" in name:
                raise Failure(f"file {name} is not laid out properly")
            self.files[name] = data

    @property
    def expect(self):
        return self.fields["expect"][0]

    def credentials(self):
        fields = self.fields
        given = {}
        if "raw-key" in fields:
            given["raw_key"] = bytes.fromhex(fields["raw-key"][0])
        if "passphrase" in fields:
            given["passphrase"] = fields["passphrase"][0]
        if "passphrase-hex" in fields:
            given["passphrase"] = bytes.fromhex(fields["passphrase-hex"][0]).decode()
        for key in "recipient-key", "security-key":
            if key in fields:
                given[key.replace("-", "_")] = bytes.fromhex(fields[key][0])
        if "named-key" in fields:
            pairs = [pair.rpartition(" ") for pair in fields["named-key"]]
            given["named"] = {reference: bytes.fromhex(key) for reference, _, key in pairs}
        if len(given) != 1 or len(fields.keys() & {"passphrase", "passphrase-hex"}) > 1:
            raise Failure("exactly one kind of key is needed")
        return given

    def unpack(self, directory):
        os.chmod(directory, 0o700)
        for name, data in self.files.items():
            descriptor = os.open(os.path.join(directory, name),
                                 os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)

    def read(self, store, name):
        try:
            return store.read(name.service, name.identifier, name.group, name.install)
        except sealed_store.NotFound:
            return "absent"
        except sealed_store.Corrupt:
            return "corrupt"

    def run(self, directory):
        self.unpack(directory)
        wanted = EXPECTATIONS[self.expect]
        try:
            store = sealed_store.Store(directory, **self.credentials())
        except sealed_store.StoreError as problem:
            if problem.kind != wanted:
                raise Failure(f"opening gave {problem.kind}: {problem}") from None
            if self.fields.keys() & {"item", "read", "finding"}:
                raise Failure(f"opening failed although more was expected: {problem}") from None
            return
        check_list(self.fields, store, wanted)
        for line in self.fields.get("read", []) + self.fields.get("item", []):
            name, answer = split_name(line)
            got = self.read(store, name)
            if got != answer and (isinstance(got, str) or not matches(got, answer)):
                raise Failure(f"reading {name} gave {got!r}")
        found = {kind for kind, _ in store.check()}
        if found != set(self.fields.get("finding", [])):
            raise Failure(f"findings are {store.check()}")
        # Reading must not change any file.
        for name in set(os.listdir(directory)) | set(self.files):
            with open(os.path.join(directory, name), "rb") as file:
                if file.read() != self.files.get(name):
                    raise Failure(f"{name} was changed")


def check_list(fields, store, wanted):
    """Checks that a list of all items has those of the vector, or fails as it wants."""
    try:
        got = store.items()
    except sealed_store.StoreError as problem:
        if problem.kind != wanted:
            raise Failure(f"listing gave {problem.kind}: {problem}") from None
        return
    if wanted:
        raise Failure(f"listing gave {len(got)} items")
    expected = [split_name(line) for line in fields.get("item", [])]
    if [item.name for item in got] != [name for name, _ in expected]:
        raise Failure(f"listing gave {[item.name for item in got]}")
    for item, (_, value) in zip(got, expected):
        if not matches(item.value, value):
            raise Failure(f"listing gave another value for {item.name}")


def run_all(directory, run):
    """Runs a check of the text of each vector, and returns the status of the program."""
    passed = failed = 0
    for file_name in sorted(name for name in os.listdir(directory) if name.endswith(".txt")):
        try:
            with open(os.path.join(directory, file_name), encoding="ascii", newline="") as file:
                run(file.read())
            passed += 1
        except Exception as problem:      # a crash of the reader must not end the run
            print(f"{file_name}: {type(problem).__name__}: {problem}")
            failed += 1
    print(f"{passed} passed, {failed} failed")
    # A run without vectors must not look like a success.
    return 1 if failed or not passed else 0


def run_vector(text):
    vector = Vector(text)
    with tempfile.TemporaryDirectory() as place:
        vector.run(place)


if __name__ == "__main__":
    sys.exit(run_all(sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__), run_vector))
