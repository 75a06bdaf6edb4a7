#!/usr/bin/env python3
"""Writes the test vectors of a database store's rows, format 2: make_database_vectors.py VECTORDIR

This writer shares no code with the reader database_rows.py, so that each checks the other's reading
of DatabaseFormat.md. Keys, salts and nonces come from a fixed sequence, so the output is the same
on every run and this program is unfit for storing anything.
"""

import os
import struct
import sys

from make_vectors import (
    SeededBuilder, aead, blake, flip, name_bytes, name_hex, subkey, value_hex, value_size)

from nacl import bindings

A = ("svc", None, None, "alpha")
B = ("svc", None, None, "beta")
C = ("svc", "grp", "install", "gamma")
NEVER = ("svc", None, None, "never stored")
THREE = {A: b"value of alpha", B: b"value of beta", C: b"value of gamma"}
CLOCK = 1_700_000_000_000_000


class Builder(SeededBuilder):
    """One store in a database."""

    def __init__(self, seed):
        super().__init__(seed)
        self.store_id, self.sk, self.ik, first, self.raw = (
            self.draw(size) for size in (16, 32, 32, 32, 32))
        self.slots, self.epochs = [(1, b"", self.raw)], [(1, 2, first)]
        self.number = self.least = 1
        self.rows, self.clock = [], CLOCK

    # header

    def header(self, version=2, magic=b"SSNTDBS1", zero=0, slot_count=None, epoch_count=None,
               extra=b"", number=None, slot_edit=None, index_edit=None, data_edit=None,
               mac_flip=False, attacker_edit=None, slot_word=b"SSNTDBS1 slot", bound_epoch=None):
        """Encodes the header.

        `slot_edit`, `index_edit` and `data_edit` change a part before checksum and MAC are made;
        `attacker_edit` changes the bytes under the MAC, and the checksum, which needs no key, then
        covers the changed bytes.
        """
        bound = magic + struct.pack("<H", version) + self.store_id
        out = magic + struct.pack("<HHHH", version,
                                  len(self.slots) if slot_count is None else slot_count,
                                  len(self.epochs) if epoch_count is None else epoch_count, zero)
        out += self.store_id + struct.pack("<Q", self.number if number is None else number)
        for kind, parameters, wrapping_key in self.slots:
            fields = struct.pack("<HH", kind, len(parameters)) + parameters
            commitment = blake(16, slot_word + self.store_id + fields, key=wrapping_key)
            rest = commitment + self.wrap(wrapping_key, self.sk, bound + fields + commitment)
            out += fields + (slot_edit(rest) if slot_edit else rest)
        wrapped = self.wrap(self.sk, self.ik, bound + b"index")
        out += index_edit(wrapped) if index_edit else wrapped
        for epoch, state, data_key in self.epochs:
            number = struct.pack("<I", epoch)
            wrapped = self.wrap(self.sk, data_key,
                                bound + b"data" + (bound_epoch or number))
            out += number + struct.pack("<I", state) + (data_edit(wrapped)
                                                        if data_edit else wrapped)
        out += extra
        edited = attacker_edit(out) if attacker_edit else out
        mac = blake(32, out + blake(16, out), key=subkey(self.sk, 1))
        return edited + blake(16, edited) + (flip(mac, 0) if mac_flip else mac)

    def header_row(self, data=None, format=2, number=None, least=None):
        return (format, self.number if number is None else number,
                self.least if least is None else least, self.header() if data is None else data)

    def rotate(self):
        """Adds an epoch, which new rows are sealed with."""
        self.epochs = [(epoch, 1, key) for epoch, _, key in self.epochs]
        self.epochs.append((self.epochs[-1][0] + 1, 2, self.draw(32)))
        self.number += 1
        return self

    # rows

    def address(self, name):
        service_and_group = name_bytes((name[0], name[1]))
        namespace = name_bytes(name[:3])
        ns = (blake(16, service_and_group, key=subkey(self.ik, 2))[:8]
              + blake(16, namespace, key=subkey(self.ik, 3))[:8])
        shard = int.from_bytes(
            blake(16, name_bytes(name), key=subkey(self.ik, 4))[:2], "little", signed=True)
        return ns, shard, blake(16, name_bytes(name), key=subkey(self.ik, 5))

    def row(self, name, value, gone=False, version=None, epoch=None, write=None, address=None,
            key=None, name_size=None, name_fill=b"\0", length=None, size=None, fill=b"\0",
            name_nonce=None, value_key=3, data_key=None):
        """Seals a row; some of the keywords make one that opens but breaks a rule."""
        ns, shard, tag = address or self.address(name)
        written, data_key = [
            (number, data_key or own) for number, state, own in self.epochs
            if number == epoch or (epoch is None and state == 2)][0]
        if version is None:
            self.clock += 1000
            version = self.clock
        write, nonce = write or self.draw(16), self.draw(24)
        bound = (b"SSNTDBI1" + self.store_id + ns + shard.to_bytes(2, "little", signed=True) + tag
                 + version.to_bytes(8, "little", signed=True) + written.to_bytes(4, "little")
                 + bytes([gone]) + write)
        key = name_bytes(name) if key is None else key
        plain_name = key.ljust(name_size or max(64, -(-len(key) // 64) * 64), name_fill)
        plain_value = struct.pack("<I", len(value) if length is None else length) + value
        plain_value = plain_value.ljust(size or value_size(len(value)), fill)
        return dict(ns=ns, shard=shard, tag=tag, version=version, epoch=written, gone=gone,
                    write=write, nonce=nonce,
                    name=aead(subkey(data_key, 5), name_nonce or nonce, bound, plain_name),
                    value=aead(subkey(data_key, value_key), nonce, bound, plain_value))

    def put(self, name, value, **odd):
        self.rows.append(self.row(name, value, **odd))
        return self

    def changed(self, index, **columns):
        """Returns the rows with some columns of one of them replaced."""
        rows = [dict(row) for row in self.rows]
        rows[index].update(columns)
        return rows


def three(seed):
    builder = Builder(seed)
    for name, value in THREE.items():
        builder.put(name, value)
    return builder


class Writer:
    def __init__(self, directory):
        self.directory, self.count = directory, 0

    def __call__(self, title, comment, builder, header=None, rows=None, expect="success",
                 items=None, reads=(), key=None):
        """Writes a vector; `key` is a list of header lines, by default the builder's raw key."""
        lines = ["expect: " + expect, "comment: " + comment]
        lines += key or ["raw-key: " + builder.raw.hex()]
        for name, value in sorted((items or {}).items(), key=lambda item: name_bytes(item[0])):
            lines.append(f"item: {name_hex(name)} {value_hex(value)}")
        for name, answer in reads:
            answer = answer if isinstance(answer, str) else value_hex(answer)
            lines.append(f"read: {name_hex(name)} {answer}")
        lines.append("")
        *columns, data = header or builder.header_row()
        lines += ["header: " + " ".join(map(str, columns + [len(data)]))] + self.hex(data)
        for row in builder.rows if rows is None else rows:
            lines.append("row: " + " ".join([
                row["ns"].hex() or "-", str(row["shard"]), row["tag"].hex() or "-",
                str(row["version"]), str(row["epoch"]), str(int(row["gone"])),
                row["write"].hex() or "-", row["nonce"].hex() or "-"]))
            for part in ("name", "value"):
                lines += [f"{part}: {len(row[part])}"] + self.hex(row[part])
        path = os.path.join(self.directory, title + ".txt")
        if os.path.exists(path):
            raise SystemExit(f"two vectors have the name {title}")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        self.count += 1

    @staticmethod
    def hex(data):
        text = data.hex()
        return [text[at:at + 64] for at in range(0, len(text), 64)]


def contents(write):
    write("ok_empty", "a new store without any row", Builder("empty"), reads=[(NEVER, "absent")])
    write("ok_three", "three items", three("three"), items=THREE, reads=[(NEVER, "absent")])

    b = Builder("values")
    sizes = (0, 1, 59, 60, 61, 252, 253, 4092, 4093, 20000)
    values = {("svc", None, None, f"{size} bytes"): (blake(64, b"long") * (size // 64 + 1))[:size]
              for size in sizes}
    for name, value in values.items():
        b.put(name, value)
    write("ok_values", "values of many lengths, an empty one among them", b, items=values)

    b = Builder("names")
    names = {("svc", group, install, "id"): f"{group} {install}".encode()
             for group in (None, "g") for install in (None, "i")}
    names.update({("a", "b", None, "c"): b"1", ("a", None, "b", "c"): b"2",
                  ("ab", None, None, "c"): b"3", ("a", None, None, "bc"): b"4",
                  ("\U0001F4E6\n", "\0", "\u4e2d", "e\u0301"): b"odd", ("s", None, None,
                                                                       "\u00e9"): b"composed",
                  ("s", None, None, "e\u0301"): b"decomposed",
                  ("svc", None, None, "org.session-tools.refresh:id"): b"refresh"})
    for name, value in names.items():
        b.put(name, value)
    write("ok_names", "names with parts absent, shifted and odd, and one like that of a refresh", b,
          items=names, reads=[(("svc", "i", None, "id"), "absent")])

    b = Builder("long names")
    names = {("s" * 4096, "g" * 4096, "i" * 4096, "d" * 4096): b"longest"}
    names.update({("svc", None, None, "d" * (size - 24 + 5)): str(size).encode()
                  for size in (63, 64, 65, 128, 129)})
    for name, value in names.items():
        b.put(name, value)
    write("ok_names_long", "names of lengths around multiples of 64, and the longest", b,
          items=names)

    b = Builder("removed").put(A, b"", gone=True).put(B, b"stays")
    write("ok_removed", "a removal, which has the shortest value", b, items={B: b"stays"},
          reads=[(A, "absent")])

    b = Builder("one change")
    shared = b.draw(16)
    for name, value in THREE.items():
        b.put(name, value, write=shared)
    write("ok_one_change", "three rows of one change: the same write identifier", b, items=THREE)

    b = Builder("versions").put(A, b"a", version=1).put(B, b"b", version=2 ** 63 - 1)
    write("ok_versions", "the lowest and the highest version", b, items={A: b"a", B: b"b"})

    b = Builder("rotated").put(A, b"old").rotate().put(B, b"new")
    write("ok_rotated", "rows of two epochs, the second of which is written", b,
          items={A: b"old", B: b"new"})
    b.least = 2
    write("ok_rotated_least_epoch", "the same when the first epoch is not written any more", b,
          items={A: b"old", B: b"new"})
    b.epochs = b.epochs[1:]
    write("retired_epoch", "a row whose epoch has left the header", b, expect="key missing",
          reads=[(A, "key-missing"), (B, b"new"), (NEVER, "absent")])

    b = Builder("eight epochs").put(A, b"first")
    for _ in range(7):
        b.rotate()
    b.put(B, b"eighth")
    b.put(C, b"fourth", epoch=4)
    write("ok_eight_epochs", "the most epochs that a header can have", b,
          items={A: b"first", B: b"eighth", C: b"fourth"})

    b = Builder("written in the middle").rotate().rotate().put(A, b"a", epoch=2)
    b.epochs = [(n, 2 if n == 2 else 1, key) for n, _, key in b.epochs]
    write("ok_epoch_prepared", "the newest epoch is read and not written yet", b, items={A: b"a"})

    b = Builder("highest epoch")
    b.epochs = [(2 ** 31 - 1, 2, b.epochs[0][2])]
    b.least = 2 ** 31 - 1
    b.number = 2 ** 63 - 1
    b.put(A, b"a")
    write("ok_highest_numbers", "the highest epoch and the highest number of a header", b,
          items={A: b"a"})


def slots(write):
    def with_slots(seed, *slots):
        b = Builder(seed)
        b.slots = list(slots)
        return b.put(A, b"a")

    salt = blake(16, b"salt")

    def stretched(passphrase, passes=1, memory=8192):
        return (2, struct.pack("<II", passes, memory) + salt,
                bindings.crypto_pwhash_alg(32, passphrase.encode(), salt, passes, memory * 1024,
                                           bindings.crypto_pwhash_ALG_ARGON2ID13))

    b = with_slots("passphrase", stretched("correct horse"))
    write("slot_passphrase", "a passphrase", b, items={A: b"a"}, key=["passphrase: correct horse"])
    write("slot_passphrase_wrong", "a wrong passphrase", b, expect="wrong key",
          key=["passphrase: correct hors"])

    named = blake(32, b"named")
    b = with_slots("named", (3, b"kms:example/main", named))
    write("slot_named", "a named key, as a KMS keeps it", b, items={A: b"a"},
          key=[f"named-key: kms:example/main {named.hex()}"])

    second = blake(32, b"second")
    b = with_slots("many", (9, b"unknown", named), (1, b"first", named), (1, b"second", second))
    write("slot_second", "a slot of another kind, one of another key, and the right one", b,
          items={A: b"a"}, key=[f"raw-key: {second.hex()}"])
    write("slot_wrong_key", "a key that is in no slot", b, expect="wrong key",
          key=["raw-key: " + bytes(32).hex()])

    keys = [blake(32, bytes([index])) for index in range(16)]
    b = with_slots("sixteen", *((1, b"slot %d" % index, key) for index, key in enumerate(keys)))
    write("slot_sixteen", "sixteen slots", b, items={A: b"a"}, key=[f"raw-key: {keys[15].hex()}"])

    b = with_slots("costly", (2, struct.pack("<II", 11, 8192) + salt, named))
    write("slot_costly", "a passphrase slot with more passes than a reader allows", b,
          expect="refused", key=["passphrase: any"])

    b = Builder("slot of a file").put(A, b"a")
    write("slot_of_file_store", "the commitment that a slot of the file format would have", b,
          header=b.header_row(b.header(slot_word=b"SSNTOOLS slot")), expect="wrong key")
    b = Builder("slot flipped").put(A, b"a")
    write("slot_commitment_flipped", "a commitment with a bit flipped: the slot is for no key", b,
          header=b.header_row(b.header(slot_edit=lambda slot: flip(slot, 3))), expect="wrong key")
    write("slot_sealing_flipped", "a slot that is for this key and does not open", b,
          header=b.header_row(b.header(slot_edit=lambda slot: flip(slot, 60))), expect="corrupt")


def headers(write):
    b = three("header")
    bad = dict(builder=b, expect="corrupt")
    for title, comment, options in (
            ("magic", "another magic", dict(magic=b"SSNTOOLS")),
            ("zero", "a field that is not zero", dict(zero=1)),
            ("no_slots", "a header without slots", dict(slot_count=0)),
            ("slot_count", "more slots than there are", dict(slot_count=2)),
            ("epoch_count", "more epochs than there are", dict(epoch_count=2)),
            ("no_epochs", "a header without epochs", dict(epoch_count=0)),
            ("extra", "a byte behind the epochs", dict(extra=b"\0")),
            ("version", "format version 1 in the bytes and 2 in the column", dict(version=1)),
            ("mac", "a MAC that is not right", dict(mac_flip=True)),
            ("index_key", "an index key that does not open",
             dict(index_edit=lambda key: flip(key, 40))),
            ("data_key", "a data key that does not open",
             dict(data_edit=lambda key: flip(key, 40))),
            ("data_key_of_other_epoch", "a data key that was sealed for another epoch",
             dict(bound_epoch=struct.pack("<I", 2))),
            ("number_changed", "a number that was counted up without the keys",
             dict(attacker_edit=lambda out: flip(out, 32, 2)))):
        # The number in the column is the one that was counted up.
        number = 3 if title == "number_changed" else None
        write("header_" + title, comment, header=b.header_row(b.header(**options), number=number),
              **bad)
    sound = b.header()
    write("header_checksum", "a checksum that is not right",
          header=b.header_row(flip(sound, -40)), **bad)
    write("header_cut", "a header without its last byte", header=b.header_row(sound[:-1]), **bad)
    write("header_none", "no bytes at all", header=b.header_row(b""), **bad)
    for title, comment, columns in (
            ("column_number", "another number in the column", dict(number=2)),
            ("column_format", "format 0 in the column", dict(format=0)),
            ("least_epoch_0", "an epoch in the column that never is", dict(least=0)),
            ("least_epoch_2", "an epoch in the column above the one that is written",
             dict(least=2))):
        write("header_" + title, comment, header=b.header_row(**columns), **bad)
    write("header_newer_format", "format 3, whose bytes may be anything", b,
          header=b.header_row(b"other bytes", format=3), expect="unsupported version")
    write("header_older_format", "format 1, which was never released", b,
          header=b.header_row(b.header(version=1), format=1), expect="unsupported version")

    def epochs(seed, *epochs):
        c = Builder(seed)
        c.epochs = [(number, state, blake(32, bytes([index])))
                    for index, (number, state) in enumerate(epochs)]
        return c

    for title, comment, list_of_epochs in (
            ("none_written", "no epoch is written", [(1, 1), (2, 1)]),
            ("two_written", "two epochs are written", [(1, 2), (2, 2)]),
            ("descending", "epochs in the wrong order", [(2, 1), (1, 2)]),
            ("twice", "one epoch twice", [(1, 1), (1, 2)]),
            ("zero", "epoch 0", [(0, 1), (1, 2)]),
            ("too_high", "epoch 2**31", [(1, 2), (2 ** 31, 1)]),
            ("state", "a state that there is not", [(1, 2), (2, 3)])):
        write("header_epoch_" + title, comment, epochs("epoch " + title, *list_of_epochs),
              expect="corrupt")


def rows(write):
    b = three("rows")
    others = [(B, THREE[B]), (C, THREE[C]), (NEVER, "absent")]
    moved = [(A, "absent"), *others]
    hit = [(A, "corrupt"), *others]
    first, second = b.rows[0], b.rows[1]
    bad = dict(builder=b, expect="corrupt")
    for title, comment, columns, reads in (
            ("ns", "another namespace", dict(ns=flip(first["ns"], 15)), moved),
            ("ns_of_other", "the namespace of another row", dict(ns=b.rows[2]["ns"]), moved),
            ("shard", "another shard", dict(shard=first["shard"] ^ 1), moved),
            ("tag", "another tag", dict(tag=flip(first["tag"], 0)), moved),
            ("version", "another version", dict(version=first["version"] + 1), hit),
            ("gone", "the row of an item, said to be a removal", dict(gone=True), hit),
            ("write", "another write identifier", dict(write=flip(first["write"], 15)), hit),
            ("nonce", "another nonce", dict(nonce=flip(first["nonce"], 23)), hit),
            ("value", "the value of another row", dict(value=second["value"]), hit),
            ("sealing", "nonce, name and value of another row",
             {part: second[part] for part in ("nonce", "name", "value")}, hit),
            ("value_short", "a value without its last byte", dict(value=first["value"][:-1]), hit),
            ("value_none", "a value of no bytes", dict(value=b""), hit),
            ("write_short", "a write identifier of 15 bytes", dict(write=first["write"][:-1]), hit),
            ("nonce_long", "a nonce of 25 bytes", dict(nonce=first["nonce"] + b"\0"), hit),
            ("epoch_0", "epoch 0", dict(epoch=0), hit)):
        write("row_" + title, comment, rows=b.changed(0, **columns), reads=reads, **bad)
    write("row_name", "the name of another row: the value still opens",
          rows=b.changed(0, name=second["name"]), reads=[(A, THREE[A]), *others], **bad)
    write("row_epoch", "an epoch that the header does not have", b, rows=b.changed(0, epoch=2),
          expect="key missing", reads=[(A, "key-missing"), *others])
    foreign = three("rows of another store")
    write("row_of_other_store", "rows of another store at the right addresses", b,
          rows=[dict(row, ns=own["ns"], shard=own["shard"], tag=own["tag"])
                for own, row in zip(b.rows, foreign.rows)], expect="corrupt",
          reads=[(name, "corrupt") for name in THREE])
    swapped = [dict(first, ns=second["ns"], shard=second["shard"], tag=second["tag"]),
               dict(second, ns=first["ns"], shard=first["shard"], tag=first["tag"]), b.rows[2]]
    write("row_swapped", "two rows whose addresses were exchanged", rows=swapped,
          reads=[(A, "corrupt"), (B, "corrupt"), (C, THREE[C])], **bad)
    old, new = Builder("older"), Builder("older")
    old.put(A, b"old", version=5)
    new.put(A, b"old", version=5).put(A, b"new", version=6)
    write("ok_put_back", "a row as it was earlier: it was right once, and opens", old,
          items={A: b"old"})
    write("row_older_value", "the value of an older row of the item", new,
          rows=[dict(new.rows[1], nonce=new.rows[0]["nonce"], value=new.rows[0]["value"])],
          expect="corrupt", reads=[(A, "corrupt")])

    # Rows that only a holder of the keys could write.
    def irregular(title, comment, answer, value=b"value", **odd):
        c = Builder("irregular " + title)
        c.put(A, value, **odd).put(B, b"b")
        write("irregular_" + title, comment, c, expect="corrupt",
              reads=[(A, answer), (B, b"b")])

    v, size = b"value", value_size(5)
    irregular("other_name", "the name of another item at the address", v, key=name_bytes(NEVER))
    irregular("name_too_long", "a name with 64 zeros too many", v, name_size=128)
    irregular("name_fill", "bytes other than zeros behind the name", v, name_fill=b"\1")
    irregular("name_no_key", "a name that is not a canonical name", v, key=b"\2abc")
    irregular("name_empty", "a name of zeros alone", v, key=b"")
    irregular("name_empty_part", "a name with an empty part", v,
              key=b"\1\0\0\0\0\0\0\1\1\0\0\0a")
    irregular("name_not_utf8", "a name that is not UTF-8", v,
              key=b"\1\1\0\0\0\xff\0\0\1\1\0\0\0a")
    irregular("name_other_nonce", "a name sealed with another nonce", v, name_nonce=bytes(24))
    irregular("value_length", "a value longer than what is there", "corrupt", length=size)
    irregular("value_fill", "bytes other than zeros behind the value", "corrupt", fill=b"\1")
    irregular("value_padded_more", "a value with more zeros than its length gives",
              "corrupt", size=72)
    irregular("value_key", "a value sealed with the key of names", "corrupt", value_key=5)
    irregular("value_short", "a value shorter than 64 bytes", "corrupt", size=60)
    irregular("removal_with_value", "a removal that has a value", "corrupt", gone=True)
    irregular("removal_long", "a removal longer than it has to be", "corrupt", value=b"",
              gone=True, size=128)
    irregular("data_key", "sealed with a data key that is not its epoch's", "corrupt",
              data_key=bytes(32))


def main():
    directory = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    os.makedirs(directory, exist_ok=True)
    for old in os.listdir(directory):
        if old.endswith(".txt"):
            os.remove(os.path.join(directory, old))
    write = Writer(directory)
    for group in (contents, slots, headers, rows):
        group(write)
    print(f"{write.count} vectors")


if __name__ == "__main__":
    main()
