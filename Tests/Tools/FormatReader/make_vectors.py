#!/usr/bin/env python3
"""Writes the test vectors of the sealed file store, format 1: make_vectors.py VECTORDIR

This writer shares no code with the reader next to it, so that each checks the other's reading of
the specification. Keys, salts and nonces come from a fixed sequence, so the output is the same on
every run and this program is unfit for storing anything.
"""

import base64
import hashlib
import os
import struct
import sys

from nacl import bindings

REMOVED, FIRST, LAST = 1, 2, 4
ONE = FIRST | LAST
HEAD, SHORTEST = 88, 232          # of a journal, of a record
RESERVE = bytes(4096)


# --- primitives, written independently of the reader's ----------------------------------------

def blake(size, data, key=b""):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def subkey(key, number):
    return hashlib.blake2b(digest_size=32, key=key, salt=number.to_bytes(16, "little"),
                           person=b"SSNTOOLS".ljust(16, b"\0")).digest()


def sip(key, data):
    return bindings.crypto_shorthash_siphashx24(data, key)


def aead(key, nonce, bound, plain):
    return bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, bound, nonce, key)


def value_size(length):
    """Returns the size of a value of `length` bytes with its length field and its padding."""
    length = max(length + 4, 64)
    e = 0
    while length >> (e + 1):
        e += 1
    s = 0
    while e >> (s + 1):
        s += 1
    step = 2 ** (e - s - 1)
    while length % step:
        length += 1
    return length


def name_bytes(name):
    out = bytearray()
    for part in name:
        if part is None:
            out.append(0)
        else:
            raw = part.encode()
            out.append(1)
            out += len(raw).to_bytes(4, "little") + raw
    return bytes(out)


def flip(data, at, bit=1):
    """Returns the bytes with one bit flipped; a negative `at` counts from the end."""
    out = bytearray(data)
    out[at] ^= bit
    return bytes(out)


# --- building a store -------------------------------------------------------------------------

class Put:
    def __init__(self, name, value, kind=None, **odd):
        self.name, self.value, self.kind, self.odd = name, value, kind, odd


class Remove(Put):
    def __init__(self, name, **odd):
        super().__init__(name, b"", **odd)


class Void(Remove):
    def __init__(self, **odd):
        super().__init__(None, **{"key": b"", **odd})


class SeededBuilder:
    """A store whose random bytes are all drawn from a sequence fixed by its seed."""

    def __init__(self, seed):
        self.seed, self.drawn = seed.encode(), 0

    def draw(self, size):
        self.drawn += 1
        return blake(size, self.drawn.to_bytes(8, "little"), key=self.seed[:64])

    def wrap(self, key, wrapped, bound):
        nonce = self.draw(24)
        return nonce + aead(key, nonce, bound, wrapped)


class Builder(SeededBuilder):
    """One store in files."""

    def __init__(self, seed):
        super().__init__(seed)
        self.sk, self.mk, self.store_id, self.raw = (self.draw(size) for size in (32, 32, 16, 32))
        self.slots = [(1, b"", self.raw)]
        self.new_journal()

    # header

    def header(self, version=1, magic=b"SSNTOOLS", zero=0, count=None, extra=b"", mac_flip=False,
               data_flip=False, slot_edit=None, attacker_edit=None, bind_commitment=True):
        """Encodes the header.

        `slot_edit` is a slot's index and a function that changes its commitment and sealing.
        `attacker_edit` changes the bytes under the MAC; the checksum, which needs no key, then
        covers the changed bytes.
        """
        bound = magic + struct.pack("<H", version) + self.store_id
        count = len(self.slots) if count is None else count
        out = magic + struct.pack("<HHI", version, count, zero) + self.store_id
        for index, (kind, parameters, wrapping_key) in enumerate(self.slots):
            fields = struct.pack("<HH", kind, len(parameters)) + parameters
            commitment = blake(16, b"SSNTOOLS slot" + self.store_id + fields, key=wrapping_key)
            wrapped = self.wrap(wrapping_key, self.sk,
                                bound + fields + (commitment if bind_commitment else b""))
            rest = commitment + wrapped
            out += fields + (slot_edit[1](rest) if slot_edit and slot_edit[0] == index else rest)
        wrapped = self.wrap(self.sk, self.mk, bound + b"data")
        out += (flip(wrapped, 30) if data_flip else wrapped) + extra
        edited = attacker_edit(out) if attacker_edit else out
        mac = blake(32, out + blake(16, out), key=subkey(self.sk, 1))
        return edited + blake(16, edited) + (flip(mac, 0) if mac_flip else mac)

    # journal

    def chain_key(self):
        return subkey(self.mk, 4)[:16]

    def tag(self, key):
        return sip(subkey(self.mk, 2)[:16], key)[:15]

    def new_journal(self, first_version=0, predecessor=bytes(16), version=1, magic=b"SSNTJRN1",
                    zero=bytes(6), store_id=None, chain_flip=False):
        self.journal_id, self.first_version, self.predecessor = (
            self.draw(16), first_version, predecessor)
        head = magic + struct.pack("<H",
                                   version) + zero + (store_id or self.store_id) + self.journal_id
        head += struct.pack("<Q", first_version) + predecessor
        self.chain = sip(self.chain_key(), head)
        self.parts = [head + (flip(self.chain,
                                   3) if chain_flip else self.chain)]   # head, then the records
        self.number, self.changes, self.sizes = 0, 0, {}
        self.ends = [(HEAD, first_version,
                      self.chain)]     # the contents of the mark behind each part
        return self

    def compact(self, *entries, data_key=None):
        """Begins the journal that replaces this one, with a new data key if one is given."""
        version, predecessor = self.ends[-1][1], blake(16, self.mark())
        self.mk = data_key or self.mk
        return self.new_journal(version, predecessor).change(*entries or [Void()])

    def change(self, *entries):
        for index, entry in enumerate(entries):
            kind = (FIRST if index == 0 else 0) | (LAST if index == len(entries) - 1 else 0)
            kind |= REMOVED if isinstance(entry, Remove) else 0
            self.record(entry, kind if entry.kind is None else entry.kind, **entry.odd)
        return self

    def put(self, name, value, **odd):
        return self.change(Put(name, value, **odd))

    def remove(self, name, **odd):
        return self.change(Remove(name, **odd))

    def record(self, entry, kind, number=None, key=None, tag=None, name_size=None, name_fill=b"\0",
               content=None, length=None, size=None, fill=b"\0", spoil=None, ends=b""):
        """Appends a record.

        The keywords make a record that is chained and sealed properly but breaks a rule. The
        exception is `ends`, the bytes at the end of the AEAD's tag. `size` is legal in a removal.
        `spoil` is "name" or "value".
        """
        self.number = self.number + 1 if number is None else number
        key = name_bytes(entry.name) if key is None else key
        value = entry.value if content is None else content
        if size is None and kind & REMOVED and not value:
            size = min(self.sizes.get(key, 64), 4096)       # as long as the value that it removes
        elif size is None:
            size = value_size(len(value))
        self.sizes[key] = size
        name = key.ljust(max(64, -(-len(key) // 64) * 64) if name_size is None else name_size,
                         name_fill)
        value = (struct.pack("<I", len(value) if length is None else length) + value).ljust(size,
                                                                                            fill)
        bound = struct.pack("<IIQ", len(name) + 16, len(value) + 16, self.number)
        plain_tag = bytes([kind]) + (self.tag(key) if tag is None else tag)
        while True:
            nonce = self.draw(24)
            mask = sip(subkey(self.mk, 6)[:16], nonce)
            masked = bound + bytes(x ^ y for x, y in zip(plain_tag, mask))
            sealed_name = aead(subkey(self.mk, 5), nonce, self.journal_id + masked, name)
            sealed_value = aead(subkey(self.mk, 3), nonce, self.journal_id + masked, value)
            if sealed_value.endswith(ends):
                break
        # A writer with a bug would damage them here, before they are chained.
        sealed_name = flip(sealed_name, 10) if spoil == "name" else sealed_name
        sealed_value = flip(sealed_value, 10) if spoil == "value" else sealed_value
        self.chain = sip(self.chain_key(),
                         self.chain + masked + nonce + sealed_name[-16:] + sealed_value[-16:])
        self.parts.append(masked + nonce + self.chain + sealed_name + sealed_value)
        self.changes += 1 if kind & LAST else 0
        counted = self.changes - (1 if self.changes and any(self.predecessor) else 0)
        self.ends.append((len(self.journal()), self.first_version + counted, self.chain))

    def journal(self, parts=None):
        return b"".join(self.parts if parts is None else parts)

    def mark(self, upto=-1, length=None, version=None, chain=None, journal_id=None, spoiled=False):
        """Returns the mark behind record `upto`: by default the last record, for 0 the head."""
        end = self.ends[upto]
        data = (journal_id or self.journal_id) + struct.pack(
            "<QQ16s", end[0] if length is None else length, end[1] if version is None else version,
            chain or end[2])
        check = sip(self.chain_key(), data)
        return data + (flip(check, 0) if spoiled else check)

    def files(self, **changed):
        """Returns the store's files; a keyword replaces one (None omits it); `_` means a dot."""
        header = self.header()
        out = {"header": header, "header.copy": header, "journal": self.journal(), "lock": b"",
               "mark": self.mark()}
        both = changed.pop("headers", None)
        if both is not None:
            out["header"] = out["header.copy"] = both
        out.update({name.replace("_", "."): data for name, data in changed.items()})
        return {name: data for name, data in out.items() if data is not None}


# --- writing a vector -------------------------------------------------------------------------

def name_hex(name):
    return " ".join("-" if part is None else part.encode().hex() for part in name)


def value_hex(value):
    if not value:
        return "empty"
    return value.hex() if len(value) <= 4096 else "blake2b:" + blake(32, value).hex()


class Writer:
    def __init__(self, directory):
        self.directory, self.count = directory, 0

    def __call__(self, title, comment, files, builder=None, expect="success", items=None, reads=(),
                 findings=(), key=None):
        """Writes a vector; `key` is a list of header lines, by default the builder's raw key."""
        lines = ["expect: " + expect, "comment: " + comment]
        lines += key or ["raw-key: " + builder.raw.hex()]
        for name, value in sorted((items or {}).items(), key=lambda item: name_bytes(item[0])):
            lines.append(f"item: {name_hex(name)} {value_hex(value)}")
        for name, answer in reads:
            answer = answer if isinstance(answer, str) else value_hex(answer)
            lines.append(f"read: {name_hex(name)} {answer}")
        lines += ["finding: " + kind for kind in findings]
        lines.append("")
        for name in sorted(files):
            lines.append(f"file: {name} {len(files[name])}")
            text = files[name].hex()
            lines += [text[at:at + 64] for at in range(0, len(text), 64)]
        path = os.path.join(self.directory, title + ".txt")
        if os.path.exists(path):
            raise SystemExit(f"two vectors have the name {title}")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        self.count += 1


A = ("svc", None, None, "alpha")
B = ("svc", None, None, "beta")
C = ("svc", "grp", None, "gamma")
D = ("svc", None, None, "delta")
NEVER = ("svc", None, None, "never stored")
TEMPLATE = [(A, b"value of alpha"), (B, b"value of beta"), (C, b"value of gamma"),
            (D, b"value of delta")]
FOUR = dict(TEMPLATE)
ALL_CORRUPT = [(name, "corrupt") for name in (A, B, C, D, NEVER)]


def four(seed):
    """Builds four items in four changes, each one shortest record: the store for most damage."""
    builder = Builder(seed)
    for name, value in TEMPLATE:
        builder.put(name, value)
    return builder


def puts(items):
    return [Put(name, value) for name, value in items.items()]


def contents(write):
    b = Builder("empty")
    write("ok_empty", "a new store without any record", b.files(), b, reads=[(NEVER, "absent")])

    b = four("four")
    write("ok_four", "four items, one change each", b.files(), b, items=FOUR,
          reads=[(NEVER, "absent")])

    b = Builder("empty value").put(A, b"")
    write("ok_value_empty", "an empty value is a value, not an absent item", b.files(), b,
          items={A: b""})

    for size in (59, 60, 61, 68, 69, 123, 124, 125, 140, 141, 251, 252, 253, 4092, 4093, 65532,
                 65533):
        value = (blake(64, b"long") * (size // 64 + 1))[:size]
        b = Builder(f"size {size}").put(A, value)
        write(f"ok_size_{size}",
              f"a value of {size} bytes, padded to {value_size(size)} with its length",
              b.files(), b, items={A: value})

    for size in (63, 64, 65, 127, 128, 129, 1023, 1024, 1025, 4095, 4096, 4097):
        name = ("svc", None, "i" * (size // 2), "d" * (size - size // 2 - 19))
        assert len(name_bytes(name)) == size
        b = Builder(f"name {size}").put(name, b"v").put(A, b"a")
        write(f"ok_name_{size}", f"a name whose canonical name has {size} bytes", b.files(), b,
              items={name: b"v", A: b"a"})

    names = {(s, g, i, d): f"{g} {i}".encode() for s in ("svc",) for g in (None,
                                                                           "g") for i in (None, "i")
             for d in ("id",)}
    b = Builder("parts")
    for name, value in names.items():
        b.put(name, value)
    write("ok_parts",
          "access group and install identifier, each present or absent: four different items",
          b.files(), b, items=names, reads=[(("svc", "i", None, "id"), "absent")])

    names = {("a", "b", None, "c"): b"1", ("a", None, "b", "c"): b"2",
             ("ab", None, None, "c"): b"3", ("a", None, None, "bc"): b"4"}
    b = Builder("shifted").change(*puts(names))
    write("ok_parts_shifted", "the same letters in different parts make different items", b.files(),
          b, items=names)

    odd = ["\U0001F511\U0001F469\u200D\U0001F4BB", "a\0b", "two\nlines", "x" * 4096, " ", "-",
           "e\u0301",
           "\u00e9", "\u202eright to left", "\U0010ffff", "../../etc", "\0", "ends in zeros\0\0"]
    names = {("svc", None, None, text): str(index).encode() for index, text in enumerate(odd)}
    names[("\U0001F4E6\n", "\0", "\u4e2d", "id")] = b"odd in every part"
    b = Builder("odd names")
    for name, value in names.items():
        b.put(name, value)
    write("ok_names_odd",
          "identifiers are any UTF-8, compared as bytes: no normalisation, 4096 bytes at most",
          b.files(), b, items=names)

    name = ("s" * 4096, "g" * 4096, "i" * 4096, "d" * 4096)
    b = Builder("all long").put(name, b"v")
    write("ok_names_longest", "every part of the name is 4096 bytes long", b.files(), b,
          items={name: b"v"})

    b = Builder("binary").put(A, bytes(range(256)) + b"\0\0\0")
    write("ok_value_binary", "a value of all bytes that ends in zeros", b.files(), b,
          items={A: bytes(range(256)) + b"\0\0\0"})

    b = Builder("overwrite").put(A, b"old").put(B, b"other").put(A, b"new")
    write("ok_overwritten", "the newest record of an item counts", b.files(), b,
          items={A: b"new", B: b"other"})

    b = Builder("removed").put(A, b"old").put(B, b"stays").remove(A)
    write("ok_removed", "a removed item is absent", b.files(), b, items={B: b"stays"},
          reads=[(A, "absent")])

    b = Builder("removed again").put(A, b"old").remove(A).put(A, b"back")
    write("ok_removed_put_again", "an item put again after its removal", b.files(), b,
          items={A: b"back"})

    b = Builder("remove nothing").remove(A).put(B, b"b")
    write("ok_removed_never_put", "a removal of an item that never was", b.files(), b,
          items={B: b"b"}, reads=[(A, "absent")])

    for size, comment in ((1000, "a removal is as long as the value that it removes"),
                          (10000, "a removal of a long value has 4096 bytes")):
        b = Builder(f"removal of {size}").put(A, bytes(size)).put(B, b"b").remove(A)
        assert len(b.parts[3]) == 72 + 80 + min(value_size(size), 4096) + 16
        write(f"ok_removal_of_{size}_bytes", comment, b.files(), b, items={B: b"b"},
              reads=[(A, "absent")])
    b = Builder("removal above 4096").put(A, bytes(10000)).put(B, b"b")
    b.remove(A, size=value_size(10000))
    write("ok_removal_above_4_kib",
          "a removal longer than a writer makes one: the length is possible, and it is zeros",
          b.files(), b, items={B: b"b"}, reads=[(A, "absent")])
    b = Builder("removal shorter").put(A, bytes(1000)).put(B, b"b").remove(A, size=64)
    write("ok_removal_shorter", "a removal shorter than the value that it removes", b.files(), b,
          items={B: b"b"}, reads=[(A, "absent")])

    b = Builder("all removed").put(A, b"a").put(B, b"b").change(Remove(A), Remove(B))
    write("ok_all_removed", "everything removed by one change", b.files(), b,
          reads=[(A, "absent"), (B, "absent")])

    b = Builder("multi").put(D, b"before")
    b.change(Put(A, b"1"), Put(B, b"2"), Remove(D), Put(C, b"3"))
    write("ok_change_of_four", "one change of four records, one of them a removal", b.files(), b,
          items={A: b"1", B: b"2", C: b"3"}, reads=[(D, "absent")])

    b = Builder("twice").change(Put(A, b"first"), Put(B, b"b"), Put(A, b"second"))
    write("ok_change_same_item_twice", "within one change the later record counts as well",
          b.files(), b, items={A: b"second", B: b"b"})

    b = Builder("put then remove").change(Put(A, b"first"), Remove(A), Put(B, b"b"))
    write("ok_change_put_and_removed", "put and removed within one change", b.files(), b,
          items={B: b"b"}, reads=[(A, "absent")])

    b = Builder("many")
    many = {("svc", None, None, f"item {n:03}"): str(n).encode() for n in range(40)}
    for name, value in many.items():
        b.put(name, value)
    write("ok_forty_changes", "forty changes", b.files(), b, items=many)

    # Void changes: each counts for the version but changes no item.
    both = {A: b"a", B: b"b"}
    for title, comment, changes in (
            ("only", "a void change and nothing else", [[Void()]]),
            ("first", "a void change in front of others",
             [[Void()], *[[put] for put in puts(both)]]),
            ("middle", "a void change between others", [[Put(A, b"a")], [Void()], [Put(B, b"b")]]),
            ("last", "two void changes at the end", [puts(both), [Void()], [Void()]]),
            ("in_change", "a void record within a change of three",
             [[Put(A, b"a"), Void(), Put(B, b"b")]]),
            ("longer", "a void change whose value is longer than it has to be",
             [puts(both), [Void(size=1024)]])):
        b = Builder("void " + title)
        for entries in changes:
            b.change(*entries)
        write("ok_void_" + title, comment, b.files(), b, items={} if title == "only" else both,
              reads=[(NEVER, "absent")])

    b = four("compacting")
    following = four("compacting").compact(*puts(FOUR)).journal()
    write("ok_compaction_interrupted",
          "journal.next without header.next is no part of the store, whole or not",
          b.files(journal_next=following[:300]), b, items=FOUR)


def compactions(write):
    """Writes journals that replace another, with marks of different ages."""
    kept = {A: b"value of alpha", B: b"value of beta", D: b"value of delta"}
    later = {**kept, C: b"put after the compaction"}
    gone = [(C, "absent"), (NEVER, "absent")]

    b = four("compacted").remove(C)
    before, old_mark, earlier_mark = b.journal(), b.mark(), b.mark(3)
    b.compact(*puts(kept))
    p = list(b.parts)
    write("compacted",
          "after a compaction: its one change puts all items and does not count for the version",
          b.files(), b, items=kept, reads=gone)
    write("compacted_old_mark",
          "after a compaction, before its first mark: the predecessor's mark is right",
          b.files(mark=old_mark), b, items=kept, reads=gone, findings=["mark"])
    write("compacted_old_mark_reserve", "the same with a reserve behind the first change",
          b.files(mark=old_mark, journal=b.journal() + RESERVE), b, items=kept, findings=["mark"])

    bad_mark = dict(builder=b, expect="corrupt", findings=["mark"], reads=ALL_CORRUPT)
    bad = dict(bad_mark, findings=["journal"])
    write("compacted_journal_put_back",
          "the journal from before a compaction was put back: the mark is of the new one",
          b.files(journal=before), **bad_mark)
    write("compacted_earlier_mark",
          "a mark of the old journal that is not the one the compaction started from",
          b.files(mark=earlier_mark), **bad_mark)
    write("compacted_old_mark_flip", "the predecessor's mark with a bit flipped",
          b.files(mark=flip(old_mark, 20)), **bad_mark)
    write("compacted_old_mark_long", "the predecessor's mark with a byte too many",
          b.files(mark=old_mark + b"\0"), **bad_mark)
    write("compacted_no_mark", "after a compaction, and the mark is missing", b.files(mark=None),
          **bad_mark)
    write("compacted_journal_put_back_old_mark",
          "journal and mark from before the compaction: right, as they were once",
          b.files(journal=before, mark=old_mark), b, items=kept, reads=gone)
    # Records are cut off one by one, with every mark with which the rest could pass as complete.
    for count in range(1, len(p)):
        title, cut = f"compacted_cut_to_{count - 1}", b.journal(p[:count])
        comment = f"{count - 1} of {len(p) - 1} records are left of a compacted journal"
        write(title, comment, b.files(journal=cut), **bad)
        write(title + "_old_mark", comment + ", with the predecessor's mark",
              b.files(journal=cut, mark=old_mark), **bad)
        write(title + "_earlier_mark", comment + ", with an earlier mark than the predecessor's",
              b.files(journal=cut, mark=earlier_mark), **bad_mark)
        write(title + "_no_mark", comment + ", without a mark", b.files(journal=cut, mark=None),
              **bad_mark)
    write("compacted_cut_one_byte", "the first change of a compacted journal lacks its last byte",
          b.files(journal=b.journal()[:-1]), **bad)
    write("compacted_cut_one_byte_old_mark", "the same with the predecessor's mark",
          b.files(journal=b.journal()[:-1], mark=old_mark), **bad)
    zeroed = b.journal([*p[:2], bytes(SHORTEST), *p[3:]])
    write("compacted_first_change_zeroed", "a record of the first change is zeros",
          b.files(journal=zeroed), **bad)
    write("compacted_first_change_zeroed_old_mark", "the same with the predecessor's mark",
          b.files(journal=zeroed, mark=old_mark), **bad)
    torn = b.journal([*p[:2], flip(p[2], 72 + 80 + 10), p[3]])
    reads = [(A, kept[A]), (B, "corrupt"), (D, kept[D]), (NEVER, "absent")]
    write("compacted_first_change_torn",
          "a value of the first change does not open, the chain holds",
          b.files(journal=torn), b, expect="corrupt", reads=reads, findings=["journal"])
    write("compacted_first_change_torn_old_mark", "the same with the predecessor's mark",
          b.files(journal=torn, mark=old_mark), b, expect="corrupt", reads=reads,
          findings=["journal", "mark"])
    hit = b.journal([*p[:2], flip(p[2], 60), p[3]])
    write("compacted_first_change_chain",
          "a chain value of the first change is hit: the item in front may be read",
          b.files(journal=hit), b, expect="corrupt", findings=["journal"],
          reads=[(A, kept[A]), (B, "corrupt"), (D, "corrupt"), (NEVER, "corrupt")])
    write("compacted_first_change_chain_old_mark",
          "the same with the predecessor's mark, which names another journal",
          b.files(journal=hit, mark=old_mark), **bad)
    for upto, title in ((0, "at_head"), (1, "inside_first_change"),
                        (2, "inside_first_change_later")):
        write("compacted_mark_" + title, "the mark stands in front of the end of the first change",
              b.files(mark=b.mark(upto)), **bad)
        write(f"compacted_mark_{title}_version_less", "the same with a version that is one lower",
              b.files(mark=b.mark(upto, version=b.first_version - 1)), **bad)
    for title, step in (("higher", 1), ("lower", -1)):
        write(f"compacted_mark_version_{title}",
              f"the mark's version is one {title} than head and changes say",
              b.files(mark=b.mark(version=b.first_version + step)), **bad)
        c = four("compacted head " + title)
        c.new_journal(4 + step, blake(16, c.mark())).change(*puts(kept))
        write(f"compacted_head_version_{title}",
              f"the head's version is one {title} than the mark says",
              c.files(mark=c.mark(version=4)), c, expect="corrupt", findings=["journal"],
              reads=ALL_CORRUPT)

    b.put(C, later[C])
    write("compacted_and_changed", "a change after a compaction counts for the version", b.files(),
          b, items=later)
    write("compacted_and_changed_old_mark",
          "the predecessor's mark, and a whole change behind the first one",
          b.files(mark=old_mark), b, items=later, findings=["mark", "tail"])
    write("compacted_and_changed_cut_old_mark",
          "the predecessor's mark, and an unfinished change behind the first one",
          b.files(mark=old_mark, journal=b.journal()[:-1]), b, items=kept, reads=gone,
          findings=["mark", "tail"])
    write("compacted_and_changed_mark_at_first_change",
          "the mark is at the end of the first change",
          b.files(mark=b.mark(3)), b, items=later, findings=["tail"])
    moved = b.journal([*p, RESERVE, b.parts[4]])
    write("compacted_damaged_behind_old_mark",
          "the predecessor's mark, and a change that opens deep behind the first one",
          b.files(mark=old_mark, journal=moved), **bad)
    write("compacted_and_changed_earlier_mark",
          "an earlier mark than the predecessor's, all changes there",
          b.files(mark=earlier_mark), **bad_mark)

    between_mark = b.mark()
    b.compact(*puts(kept))
    write("compacted_twice", "two compactions", b.files(), b, items=kept, reads=gone)
    write("compacted_twice_old_mark", "the mark from before the second of two compactions",
          b.files(mark=between_mark), b, items=kept, findings=["mark"])
    write("compacted_twice_older_mark", "the mark from before the first of two compactions",
          b.files(mark=old_mark), **bad_mark)

    b = Builder("compacted empty").put(A, b"a").remove(A)
    old_mark = b.mark()
    b.compact()
    write("compacted_empty", "a compacted store without items: the first change is void", b.files(),
          b, reads=[(A, "absent")])
    write("compacted_empty_old_mark", "the same with the predecessor's mark",
          b.files(mark=old_mark), b, reads=[(A, "absent")], findings=["mark"])
    write("compacted_empty_head_only", "only the head is left of it, with the predecessor's mark",
          b.files(journal=b.parts[0], mark=old_mark), b, expect="corrupt", findings=["journal"],
          reads=ALL_CORRUPT)
    b.put(B, b"b").change(Void())
    write("compacted_empty_and_changed",
          "changes after a void first change, one of them void as well",
          b.files(), b, items={B: b"b"}, reads=[(A, "absent")])

    b = four("without predecessor")
    old_mark, version = b.mark(), b.ends[-1][1]
    b.new_journal(version).change(*puts(kept))
    bad_mark["builder"] = bad["builder"] = b
    write("compacted_no_predecessor_old_mark",
          "the head says that there was no journal before, the mark is of another",
          b.files(mark=old_mark), **bad_mark)
    write("compacted_no_predecessor_version",
          "the head says that there was no journal before, so its first change counts",
          b.files(mark=b.mark(version=version)), **bad)

    # A repair replaces the mark by random bytes and makes its journal their successor.
    b = four("repaired")
    no_mark, version = b.draw(64), b.ends[-1][1]
    b.new_journal(version + 1, blake(16, no_mark)).change(*puts(kept))
    write("repaired", "after a repair: the version is one higher", b.files(), b, items=kept)
    write("repaired_random_mark",
          "after a repair, before its first mark: random bytes are in the mark's place",
          b.files(mark=no_mark), b, items=kept, findings=["mark"])
    write("repaired_other_random_mark", "other random bytes are in the mark's place",
          b.files(mark=b.draw(64)), b, expect="corrupt", findings=["mark"], reads=ALL_CORRUPT)
    b = four("repairing")
    write("repair_interrupted",
          "random bytes are in the mark's place, and the journal is still the old one",
          b.files(mark=b.draw(64)), b, expect="corrupt", findings=["mark"], reads=ALL_CORRUPT)


def reference(scheme, data):
    return scheme + b":" + base64.urlsafe_b64encode(data).rstrip(b"=")


def recipients(write):
    """Slots that are sealed to a public key; each bad one would open for a lenient reader."""
    def recipient(b, label=b"", version=1, box=lambda box: box, text=lambda text: text):
        secret, key, once = b.draw(32), b.draw(32), b.draw(32)
        public, once_public = map(bindings.crypto_scalarmult_base, (secret, once))
        sealed = once_public + bindings.crypto_box(
            key, blake(24, once_public + public), public, once)
        data = bytes([version]) + public + box(sealed) + label
        b.slots = [(3, text(reference(b"x25519", data)), key)]
        return "recipient-key: " + secret.hex()

    def vector(title, comment, items=None, **odd):
        b = four("recipient " + title)
        key = recipient(b, **odd)
        outcome = {"items": FOUR} if items else {"expect": "wrong key"}
        write(("slot_recipient_" + title).rstrip("_"), comment, b.files(), key=[key], **outcome)

    vector("", "sealed to a public key", items=FOUR)
    vector("labelled", "with the longest label", items=FOUR, label="\u00e9".encode() * 32)
    vector("box_spoiled", "one bit of the sealed box is wrong", box=lambda box: flip(box, -1))
    vector("version_2", "a version that is reserved", version=2)
    vector("version_0", "a version that does not exist", version=0)
    vector("label_too_long", "a label of 65 bytes", label=b"l" * 65)
    vector("label_not_utf8", "a label that is not UTF-8", label=b"\xff")
    vector("padded", "Base64 with padding", text=lambda text: text + b"=")
    vector("unused_bits", "Base64 whose unused bits are not zero",
           text=lambda text: text[:-1] + bytes([text[-1] + 1]))
    vector("other_alphabet", "the alphabet of ordinary Base64",
           text=lambda text: text.replace(b"-", b"+").replace(b"_", b"/"))
    vector("scheme_in_capitals", "the scheme in capital letters",
           text=lambda text: text.replace(b"x25519", b"X25519"))

    b = four("recipient other")
    recipient(b)
    write("slot_recipient_other_key", "another secret key", b.files(), expect="wrong key",
          key=["recipient-key: " + b.draw(32).hex()])
    key = recipient(b)
    write("slot_recipient_but_raw_key", "the secret key given as a raw key", b.files(),
          expect="wrong key", key=[key.replace("recipient", "raw")])
    spoiled = b.slots
    key = recipient(b)
    b.slots = spoiled + b.slots
    write("slot_recipient_second", "the first recipient is another one", b.files(), items=FOUR,
          key=[key])


def security_keys(write):
    """Slots of security keys; each bad one would open for a lenient reader."""
    def vector(title, comment, items=None, version=1, flags=1, credential=64, claimed=None,
               label=b"", hashes_label=False, answer=lambda output: output):
        b = four("security key " + title)
        output = b.draw(32)
        identifier = (b.draw(64) * 17)[:credential]
        data = (bytes([version, flags]) + b.draw(32)
                + struct.pack("<H", credential if claimed is None else claimed) + identifier)
        key = blake(32, b"SSNTFID2" + data + (label if hashes_label else b""), key=output)
        b.slots = [(3, reference(b"fido2", data + label), key)]
        outcome = {"items": FOUR} if items else {"expect": "wrong key"}
        write(("slot_security_key_" + title).rstrip("_"), comment, b.files(),
              key=["security-key: " + answer(output).hex()], **outcome)

    vector("", "a security key with user verification", items=FOUR)
    vector("touch_only", "without user verification, with a label", items=FOUR, flags=0,
           label="Schl\u00fcssel".encode())
    vector("shortest", "a credential ID of one byte", items=FOUR, credential=1)
    vector("longest", "the longest credential ID and label", items=FOUR, credential=1023,
           label=b"l" * 64)
    vector("wrong_answer", "the security key answers other bytes", answer=lambda out: flip(out, 0))
    vector("label_in_hash", "the key depends on the label", label=b"label", hashes_label=True)
    vector("version_2", "a version that does not exist", version=2)
    vector("flag_unknown", "a flag that does not exist", flags=3)
    vector("credential_empty", "no credential ID", credential=0)
    vector("credential_too_long", "a credential ID of 1024 bytes", credential=1024)
    vector("credential_beyond_end", "a credential ID that ends behind the reference", claimed=65)
    vector("label_too_long", "a label of 65 bytes", label=b"l" * 65)
    vector("label_not_utf8", "a label that is not UTF-8", label=b"\xc3")


def app_secrets(write):
    """Slots of sandboxed apps; each bad one would open for a lenient reader."""
    def vector(title, comment, items=None, version=1, salt=32, length=64, after=b"",
               hashed=lambda secret: blake(32, secret), given=lambda secret: secret):
        b = four("app secret " + title)
        secret = (b.draw(64) * 64)[:length]
        data = bytes([version]) + b.draw(64)[:salt] + after
        key = blake(32, b"SSNTPORT" + data, key=hashed(secret))
        b.slots = [(3, reference(b"portal", data), key)]
        outcome = {"items": FOUR} if items else {"expect": "wrong key"}
        write(("slot_app_secret_" + title).rstrip("_"), comment, b.files(),
              key=["app-secret: " + given(secret).hex()], **outcome)

    vector("", "the secret of a sandboxed app", items=FOUR)
    vector("shortest", "a secret of 16 bytes", items=FOUR, length=16)
    vector("longest", "a secret of 4096 bytes", items=FOUR, length=4096)
    vector("other", "the secret of another app", given=lambda secret: flip(secret, 0))
    vector("not_hashed", "the secret itself as the key", hashed=lambda secret: secret)
    vector("version_2", "a version that does not exist", version=2)
    vector("salt_too_short", "a salt of 31 bytes", salt=31)
    vector("salt_too_long", "a salt of 33 bytes", salt=33)


def slots(write):
    b = four("labelled")
    b.slots = [(1, "Schl\u00fcssel im Tresor".encode(), b.raw)]
    write("slot_raw_labelled", "a raw key slot with a label", b.files(), b, items=FOUR)

    def passphrase(b, text, passes=1, memory=8192, spend=True):
        salt = b.draw(16)
        key = bindings.crypto_pwhash_alg(
            32, text.encode(), salt, passes, memory * 1024,
            bindings.crypto_pwhash_ALG_ARGON2ID13) if spend else b.draw(32)
        return 2, struct.pack("<II", passes, memory) + salt, key

    for passes in (1, 2, 3):
        b = four(f"passphrase {passes}")
        b.slots = [passphrase(b, "correct horse battery staple", passes)]
        write(f"slot_passphrase_t{passes}", f"a passphrase slot of {passes} passes over 8 MiB",
              b.files(), items=FOUR, key=["passphrase: correct horse battery staple"])
    write("slot_passphrase_wrong", "a wrong passphrase", b.files(), expect="wrong key",
          key=["passphrase: correct horse battery stable"])
    write("slot_passphrase_but_raw_key", "a raw key for a store that has a passphrase slot only",
          b.files(), expect="wrong key", key=["raw-key: " + b.raw.hex()])

    b = four("normalised")
    b.slots = [passphrase(b, "\u00c5ngstr\u00f6m \ud55c\uae00")]
    decomposed = "A\u030angstro\u0308m \u1112\u1161\u11ab\u1100\u1173\u11af"
    write("slot_passphrase_nfc",
          "the passphrase is given decomposed and the slot was made of the composed form",
          b.files(), items=FOUR, key=["passphrase-hex: " + decomposed.encode().hex()])
    b = four("not normalised")
    b.slots = [passphrase(b, "a\u030a")]
    write("slot_passphrase_not_nfc",
          "a slot made of the decomposed form breaks the format and cannot be opened", b.files(),
          expect="wrong key", key=["passphrase-hex: " + "a\u030a".encode().hex()])
    b = four("compatibility")
    b.slots = [passphrase(b, "\ufb01")]
    write("slot_passphrase_not_nfkc",
          "NFC leaves the ligature alone, so the two letters do not open it",
          b.files(), expect="wrong key", key=["passphrase: fi"])
    write("slot_passphrase_nfc_keeps_ligature", "NFC leaves the ligature alone on both sides",
          b.files(), items=FOUR, key=["passphrase-hex: " + "\ufb01".encode().hex()])

    b = four("named")
    b.slots = [(3, b"keyring:example/main", b.raw)]
    write("slot_named", "a named key", b.files(), items=FOUR,
          key=["named-key: keyring:example/main " + b.raw.hex()])
    write("slot_named_other_reference", "the right key under another reference is not tried",
          b.files(), expect="wrong key", key=["named-key: keyring:example/other " + b.raw.hex()])
    write("slot_named_wrong_key", "the right reference holds another key", b.files(),
          expect="wrong key", key=["named-key: keyring:example/main " + b.sk.hex()])
    write("slot_named_but_raw_key", "the right key given as a raw key does not fit a named slot",
          b.files(), expect="wrong key", key=["raw-key: " + b.raw.hex()])

    recipients(write)
    security_keys(write)
    app_secrets(write)

    b = four("two slots")
    b.slots = [(1, b"first", b.draw(32)), (1, b"second", b.raw)]
    write("slot_second_of_two", "the key fits the second slot only", b.files(), b, items=FOUR)

    b = four("mixed")
    b.slots = [passphrase(b, "recovery"), (1, b"", b.draw(32)), (3, b"tpm", b.draw(32))]
    files = b.files()
    write("slot_mixed_passphrase", "three kinds of slot: opened by the passphrase", files,
          items=FOUR, key=["passphrase: recovery"])
    write("slot_mixed_raw", "three kinds of slot: opened by the raw key", files, items=FOUR,
          key=["raw-key: " + b.slots[1][2].hex()])
    write("slot_mixed_named", "three kinds of slot: opened by the named key", files, items=FOUR,
          key=["named-key: tpm " + b.slots[2][2].hex()])

    b = four("sixteen")
    b.slots = [(1, f"slot {n}".encode(), b.draw(32)) for n in range(15)] + [(1, b"slot 15", b.raw)]
    write("slot_last_of_sixteen", "sixteen slots, the key fits the last", b.files(), b, items=FOUR)

    for title, count, comment in (("slot_count_0", 0, "no slot"),
                                  ("slot_count_17", 17, "seventeen slots")):
        b = four(title)
        b.slots = [(1, b"", b.raw)] * count
        write(title, comment + ", with checksum and MAC right", b.files(), b, expect="corrupt")
    b = four("count too small")
    b.slots = [(1, b"", b.raw)] * 2
    write("slot_count_too_small", "two slots where the count says one",
          b.files(headers=b.header(count=1)), b, expect="corrupt")
    write("slot_count_too_large", "two slots where the count says three",
          b.files(headers=b.header(count=3)), b, expect="corrupt")

    b = four("unknown kind")
    b.slots = [(9, b"something later", b.draw(32)), (1, b"", b.raw)]
    write("slot_unknown_kind_skipped", "a slot of unknown kind beside a good one is skipped",
          b.files(), b, items=FOUR)
    b = four("only unknown")
    b.slots = [(9, b"", b.raw)]
    write("slot_unknown_kind_only", "no key opens a slot of unknown kind", b.files(), b,
          expect="wrong key")
    b = four("kind zero")
    b.slots = [(0, b"", b.raw)]
    write("slot_kind_zero", "kind 0 is unknown as well", b.files(), b, expect="wrong key")

    for size in (23, 25):
        b = four(f"parameters {size}")
        kind, parameters, key = passphrase(b, "short")
        b.slots = [(kind, (parameters + b"\0")[:size], key), (1, b"", b.raw)]
        write(f"slot_passphrase_params_{size}",
              f"a passphrase slot with {size} bytes of parameters, beside a good slot", b.files(),
              b, expect="corrupt")
    for title, kind, parameters, comment in (
            ("label_not_utf8", 1, b"\xff\xfe", "a label that is not UTF-8"),
            ("reference_not_utf8", 3, b"\xff\xfe", "a reference that is not UTF-8"),
            ("reference_empty", 3, b"", "an empty reference")):
        b = four("slot " + title)
        b.slots = [(kind, parameters, b.raw), (1, b"", b.raw)]
        write("slot_" + title, comment + ", with checksum and MAC right, beside a good slot",
              b.files(), b, expect="corrupt")
    b = four("slot length")
    for title, size, comment in (("beyond_header", b"\xff\xff", "runs past the header"),
                                 ("plus_one", b"\1\0", "is one too large")):
        edited = b.header(attacker_edit=lambda h: h[:34] + size + h[36:])
        write("slot_params_length_" + title,
              f"a slot's parameter length {comment}, checksum mended",
              b.files(headers=edited), b, expect="corrupt")

    # A slot's commitment decides whether it is for a key; its sealing does not.
    wrong, spoiled = (lambda slot: flip(slot, 3)), (lambda slot: flip(slot, 16 + 30))
    b = four("commitment")
    b.slots = [(1, b"first", b.raw), (1, b"second", b.raw)]
    write("slot_commitment_wrong_next_opens",
          "the commitment of the first slot is wrong, the second is for the same key",
          b.files(headers=b.header(slot_edit=(0, wrong))), b, items=FOUR)
    write("slot_spoiled_next_opens",
          "the first slot's commitment is right and it does not open: the second does not help",
          b.files(headers=b.header(slot_edit=(0, spoiled))), b, expect="corrupt")
    b.slots.pop()
    write("slot_commitment_wrong",
          "the commitment is wrong although the slot would open, checksum and MAC right",
          b.files(headers=b.header(slot_edit=(0, wrong))), b, expect="wrong key")
    write("slot_commitment_and_sealing_wrong", "commitment and sealing are wrong",
          b.files(headers=b.header(slot_edit=(0, lambda slot: wrong(spoiled(slot))))), b,
          expect="wrong key")
    write("slot_commitment_not_sealed",
          "the commitment is right, but the sealing is not bound to it",
          b.files(headers=b.header(bind_commitment=False)), b, expect="corrupt")
    write("slot_spoiled",
          "the commitment is right and the slot does not open, checksum and MAC right",
          b.files(headers=b.header(slot_edit=(0, spoiled))), b, expect="corrupt")
    write("slot_spoiled_copy_good",
          "the same in the header alone: it was made on purpose, so the copy is not used",
          b.files(header=b.header(slot_edit=(0, spoiled)), header_copy=b.header()), b,
          expect="corrupt")
    write("slot_spoiled_wrong_key", "the same with another key: the slot is not for it",
          b.files(headers=b.header(slot_edit=(0, spoiled))), expect="wrong key",
          key=["raw-key: " + b.sk.hex()])
    b.slots = [(1, b"other", b.draw(32)), (1, b"mine", b.raw)]
    write("slot_other_spoiled",
          "a slot for another key does not open: this key does not meet it, and the MAC is right",
          b.files(headers=b.header(slot_edit=(0, spoiled))), b, items=FOUR)
    b.slots = [passphrase(b, "text")]
    header = b.header(slot_edit=(0, spoiled))
    write("slot_passphrase_spoiled", "a passphrase slot with a right commitment that does not open",
          b.files(headers=header), expect="corrupt", key=["passphrase: text"])
    write("slot_passphrase_spoiled_wrong", "the same with another passphrase",
          b.files(headers=header), expect="wrong key", key=["passphrase: test"])

    # A slot is refused before its cost is spent, so the key in these slots may be anything.
    for title, passes, memory in (("t0", 0, 8192), ("t11", 11, 8192), ("t_huge", 2 ** 32 - 1, 8192),
                                  ("m0", 1, 0), ("m_below_8_mib", 1, 8191),
                                  ("m_above_1_gib", 1, 1048577), ("m_huge", 1, 2 ** 32 - 1)):
        b = four("argon " + title)
        b.slots = [passphrase(b, "text", passes, memory, spend=False)]
        write("slot_argon_" + title,
              f"a passphrase slot with {passes} passes over {memory} KiB: "
              "refused before it is spent",
              b.files(), expect="refused", key=["passphrase: text"])
    b.slots.append((1, b"", b.raw))
    write("slot_argon_refused_but_raw_key", "limits on a passphrase slot do not concern a raw key",
          b.files(), b, items=FOUR)
    b.slots = [b.slots[0], passphrase(b, "text")]
    write("slot_argon_refused_but_second_opens",
          "one passphrase slot is refused and the next opens",
          b.files(), items=FOUR, key=["passphrase: text"])

    b = four("wrong key")
    write("slot_raw_wrong_key", "another raw key", b.files(), expect="wrong key",
          key=["raw-key: " + b.sk.hex()])
    write("slot_raw_store_key_itself", "the data key given as a raw key", b.files(),
          expect="wrong key", key=["raw-key: " + b.mk.hex()])


def headers(write):
    b = four("header")
    good = b.header()
    write("header_copy_missing", "the copy is missing: reported", b.files(header_copy=None), b,
          items=FOUR, findings=["header copy"])
    write("header_copy_damaged", "the copy is damaged: reported",
          b.files(header_copy=flip(good, 40)), b, items=FOUR, findings=["header copy"])
    write("header_copy_older", "the copy is another valid header of the store: reported",
          b.files(header=good, header_copy=b.header()), b, items=FOUR, findings=["header copy"])
    write("header_missing", "the header is missing: the copy is used",
          b.files(header=None, header_copy=good), b, items=FOUR, findings=["header"])
    write("header_empty", "the header is empty: the copy is used", b.files(header=b""), b,
          items=FOUR, findings=["header"])
    for title, at in (("magic", 0), ("version", 8), ("count", 10), ("store_id", 20),
                      ("slot_kind", 32), ("slot_length", 35), ("slot_commitment", 40),
                      ("slot_key", 80), ("data_key", 150), ("checksum", -40)):
        write(f"header_flip_{title}",
              f"a bit of the header is flipped ({title.replace('_', ' ')}): the copy is used",
              b.files(header=flip(good, at, 2), header_copy=good), b, items=FOUR,
              findings=["header"])
    write("header_truncated", "the header is cut short: the copy is used",
          b.files(header=good[:-1]), b, items=FOUR, findings=["header"])
    write("header_trailing_byte", "a byte after the header's end: the copy is used",
          b.files(header=good + b"\0", header_copy=good), b, items=FOUR, findings=["header"])
    write("header_damaged_wrong_key", "the header is damaged and the key does not fit the copy",
          b.files(header=flip(good, 40)), expect="wrong key", key=["raw-key: " + b.sk.hex()])

    both = dict(builder=b, expect="corrupt")
    write("header_both_missing",
          "neither header nor copy, but a journal: damage, not an absent store",
          b.files(header=None, header_copy=None), **both)
    write("header_both_damaged", "header and copy are damaged",
          b.files(header=flip(good, 40), header_copy=flip(good, 99)), **both)
    write("header_both_truncated_slot", "header and copy end within the slot",
          b.files(headers=good[:70]), **both)
    write("header_both_trailing_byte", "a byte after the end of header and copy",
          b.files(headers=good + b"\0"), **both)
    write("header_both_empty", "header and copy are empty", b.files(headers=b""), **both)
    write("header_both_wrong_magic", "another magic in header and copy",
          b.files(headers=flip(good, 0)), **both)
    write("header_damaged_wrong_key_both",
          "a damaged header and copy are damage even with a wrong key",
          b.files(headers=flip(good, 40)), expect="corrupt", key=["raw-key: " + b.sk.hex()])

    fake = b.header(mac_flip=True)
    write("header_mac_wrong", "the checksum is right and the MAC is wrong", b.files(headers=fake),
          **both)
    write("header_mac_wrong_copy_good",
          "a wrong MAC is no accident, so the good copy does not help",
          b.files(header=fake, header_copy=good), **both)
    write("header_mac_wrong_wrong_key", "a wrong MAC shows only after a slot was opened",
          b.files(headers=fake), expect="wrong key", key=["raw-key: " + b.sk.hex()])
    edited = b.header(attacker_edit=lambda h: flip(h, 0))
    write("header_magic_mended",
          "another magic with the checksum mended was made on purpose: the copy is not used",
          b.files(header=edited, header_copy=good), **both)
    edited = b.header(attacker_edit=lambda h: h[:-72] + b.draw(64) + b.draw(8))
    write("header_data_key_swapped", "the wrapped data key is of another header, checksum mended",
          b.files(headers=edited), **both)
    write("header_data_key_spoiled", "the wrapped data key does not open, checksum and MAC right",
          b.files(headers=b.header(data_flip=True)), **both)
    edited = b.header(attacker_edit=lambda h: flip(h, 36 + 16 + 30))
    write("header_slot_spoiled",
          "the only slot is spoiled and the checksum mended: its commitment is right",
          b.files(headers=edited), **both)
    edited = b.header(attacker_edit=lambda h: flip(h, 36))
    write("header_commitment_changed",
          "the commitment was changed and the checksum mended: the slot is for no key",
          b.files(headers=edited), b, expect="wrong key")
    c = four("label changed")
    c.slots = [(1, b"mine", c.raw)]
    edited = c.header(attacker_edit=lambda h: h[:36] + b"X" + h[37:])
    write("header_label_changed",
          "the slot's label was changed and the checksum mended: the commitment covers it",
          c.files(headers=edited), c, expect="wrong key")

    b = four("other slot")
    b.slots = [(1, b"mine", b.raw), (1, b"other", b.draw(32))]
    first = 32 + 4 + 4 + 16 + 72                     # where the other slot begins
    edited = b.header(attacker_edit=lambda h: flip(h, first + 4 + 5 + 16 + 50))
    write("header_other_slot_spoiled",
          "another slot was changed and the checksum mended: the MAC shows it",
          b.files(headers=edited), b, expect="corrupt")
    edited = b.header(
        attacker_edit=lambda h: h[:10] + b"\1\0" + h[12:first] + h[first + 4 + 5 + 16 + 72:])
    write("header_other_slot_dropped",
          "another slot was dropped and the checksum mended: the MAC shows it",
          b.files(headers=edited), b, expect="corrupt")

    b = four("header fields")
    write("header_other_magic", "another magic in header and copy, checksum and MAC right",
          b.files(headers=b.header(magic=b"SSNTOOLT")), b, expect="corrupt")
    write("header_zero_field", "the zero field is not zero, checksum and MAC right",
          b.files(headers=b.header(zero=1)), b, expect="corrupt")
    write("header_extra_bytes", "bytes between data key and checksum, checksum and MAC right",
          b.files(headers=b.header(extra=b"\0")), b, expect="corrupt")
    write("header_version_2", "format version 2 in header and copy, checksum and MAC right",
          b.files(headers=b.header(version=2)), b, expect="unsupported version")
    write("header_version_0", "format version 0 in header and copy, checksum and MAC right",
          b.files(headers=b.header(version=0)), b, expect="unsupported version")
    write("header_version_2_wrong_key", "the version comes before the key",
          b.files(headers=b.header(version=2)), expect="unsupported version",
          key=["raw-key: " + b.sk.hex()])
    write("header_version_2_copy_1",
          "a good header of version 2 beside an old copy: the copy is not used",
          b.files(header=b.header(version=2)), b, expect="unsupported version")

    write("store_missing", "an empty directory holds no store", {}, b, expect="not found")
    write("store_only_lock", "nothing but a lock", {"lock": b""}, b, expect="not found")
    b = Builder("interrupted creation")
    write("store_creation_interrupted",
          "the creation ended before the header: there never was a store",
          b.files(header=None, header_copy=None), b, expect="not found")
    write("store_creation_interrupted_no_mark", "the creation ended before the mark",
          b.files(header=None, header_copy=None, mark=None), b, expect="not found")
    b.put(A, b"a")
    write("store_one_record_no_header", "both headers are missing beside a journal of one record",
          b.files(header=None, header_copy=None), b, expect="corrupt")


def rotations(write):
    new = {A: b"value of alpha", B: b"value of beta"}

    def rotated(b, revoke=None):
        """Returns the files before a rotation, then header, journal and mark after it."""
        old = b.files()
        data_key = b.draw(32)
        if revoke:
            b.sk, b.slots = b.draw(32), revoke
        b.compact(*puts(new), data_key=data_key)
        return old, b.header(), b.journal(), b.mark()

    b = four("rotated")
    earlier_mark = b.mark(3)
    old, header, journal, mark = rotated(b)
    write("rotation_done", "after a rotation: new data key, new journal", b.files(), b, items=new,
          reads=[(C, "absent")])
    write("rotation_before_rename",
          "interrupted before journal.next was renamed: the old state counts",
          {**old, "header.next": header, "journal.next": journal}, b, items=FOUR,
          findings=["rotation"])
    write("rotation_before_rename_damaged_next",
          "interrupted while header.next was being written: the old state counts",
          {**old, "header.next": header[:100]}, b, items=FOUR, findings=["rotation"])
    renamed = {**old, "header.next": header, "journal": journal}
    write("rotation_after_rename",
          "interrupted after the rename: the mark of the old keys is the predecessor's", renamed, b,
          items=new, reads=[(C, "absent")], findings=["mark", "rotation"])
    write("rotation_after_mark", "interrupted after the mark followed, before the header did",
          {**renamed, "mark": mark}, b, items=new, findings=["rotation"])
    for title, comment, other in (("earlier", "an earlier mark of the old journal", earlier_mark),
                                  ("missing", "no mark", None),
                                  ("zeros", "a mark of zeros", bytes(64))):
        files = {**renamed, "mark": other}
        write(f"rotation_after_rename_mark_{title}", f"the rotation's journal beside {comment}",
              {name: data for name, data in files.items() if data is not None}, b, expect="corrupt",
              findings=["mark", "rotation"], reads=ALL_CORRUPT)
    write("rotation_after_rename_cut", "the rotation's journal is cut within its first change",
          {**renamed, "journal": b.journal(b.parts[:2])}, b, expect="corrupt",
          findings=["journal", "rotation"], reads=ALL_CORRUPT)
    write("rotation_done_old_mark", "a finished rotation with the mark of the old keys",
          b.files(mark=old["mark"]), b, items=new, findings=["mark"])
    write("rotation_done_earlier_mark", "a finished rotation with an earlier mark of the old keys",
          b.files(mark=earlier_mark), b, expect="corrupt", findings=["mark"], reads=ALL_CORRUPT)
    write("rotation_after_header", "interrupted after the header followed, before its copy did",
          {**renamed, "header": header, "mark": mark}, b, items=new,
          findings=["header copy", "rotation"])
    write("rotation_after_headers", "interrupted before header.next was taken away",
          {**renamed, "header": header, "header.copy": header, "mark": mark}, b, items=new,
          findings=["rotation"])
    write("rotation_after_rename_wrong_key", "interrupted after the rename, wrong key", renamed,
          expect="wrong key", key=["raw-key: " + b.sk.hex()])
    write("rotation_after_rename_header_damaged",
          "interrupted after the rename, and the header is damaged: copy, then next",
          {**renamed, "header": flip(old["header"], 50)}, b, items=new,
          findings=["header", "mark", "rotation"])
    write("rotation_next_missing", "the journal is under a new data key and header.next is gone",
          {**old, "journal": journal}, b, expect="corrupt", findings=["journal"], reads=ALL_CORRUPT)
    write("rotation_next_damaged", "the journal is under a new data key and header.next is damaged",
          {**renamed, "header.next": flip(header, 99)}, b, expect="corrupt",
          findings=["journal", "rotation"], reads=ALL_CORRUPT)
    write("rotation_header_new_journal_old", "the headers are new and the journal is the old one",
          {**old, "header": header, "header.copy": header}, b, expect="corrupt",
          findings=["journal"], reads=ALL_CORRUPT)
    write("rotation_next_mac_wrong", "header.next has a wrong MAC",
          {**renamed, "header.next": b.header(mac_flip=True)}, b, expect="corrupt")
    b.store_id = b.draw(16)
    write("rotation_next_other_store",
          "header.next is of another store that happens to have the same keys",
          {**old, "header.next": b.header(), "journal": b.new_journal().put(A, b"1").journal()}, b,
          expect="corrupt", findings=["journal", "rotation"])

    b = four("revoked")
    lost = b.draw(32)
    b.slots = [(1, b"kept", b.raw), (1, b"revoked", lost)]
    old, header, journal, mark = rotated(b, [(1, b"kept", b.raw)])
    write("revocation_done", "after a revocation: new store key, one slot dropped", b.files(), b,
          items=new)
    write("revocation_done_revoked_key", "the revoked key no longer opens", b.files(),
          expect="wrong key", key=["raw-key: " + lost.hex()])
    write("revocation_after_rename", "a revocation interrupted after the rename, with the kept key",
          {**old, "header.next": header, "journal": journal}, b, items=new,
          findings=["mark", "rotation"])
    write("revocation_after_rename_revoked_key",
          "the same with the revoked key: it opens the old header, not the new one",
          {**old, "header.next": header, "journal": journal}, expect="wrong key",
          key=["raw-key: " + lost.hex()])


def journals(write):
    b = four("journal")
    whole = b.journal()
    bad = dict(builder=b, expect="corrupt", reads=ALL_CORRUPT, findings=["journal"])
    write("journal_missing", "a header without a journal: damage, not an empty store",
          b.files(journal=None), **bad)
    write("journal_missing_no_mark", "a header without journal and mark: the mark is not judged",
          b.files(journal=None, mark=None), **bad)
    write("journal_empty", "an empty journal file", b.files(journal=b""), **bad)
    write("journal_short_head", "the journal ends within its head",
          b.files(journal=whole[:HEAD - 1]), **bad)
    for title, at, comment in (("wrong_magic", 7, "magic"), ("version", 9, "format version"),
                               ("store_id", 20, "store identifier"),
                               ("id", 40, "journal identifier"),
                               ("first_version", 48, "version"), ("predecessor", 60, "predecessor"),
                               ("chain0", 80, "chain value 0")):
        write(f"journal_{title}_flip", f"the {comment} in the head was changed without the key",
              b.files(journal=flip(whole, at)), **bad)
    write("journal_zeros", "the journal is all zeros", b.files(journal=bytes(len(whole))), **bad)
    other = four("another store")
    write("journal_of_another_store", "journal and mark of another store",
          b.files(journal=other.journal(), mark=other.mark()), **bad)

    for title, comment, odd in (("magic", "another magic", {"magic": b"SSNTJRN2"}),
                                ("zero_field", "a zero field that is not zero",
                                 {"zero": b"\0\0\0\0\0\1"}),
                                ("store_id", "another store identifier", {"store_id": bytes(16)})):
        b = Builder("head " + title)
        b.new_journal(**odd).put(A, b"1")
        write(f"journal_head_{title}", f"{comment} in the journal's head, with chain value 0 right",
              b.files(), b, expect="corrupt", findings=["journal"],
              reads=[(A, "corrupt"), (NEVER, "corrupt")])
    b = Builder("head version")
    b.new_journal(version=2).put(A, b"1")
    write("journal_head_version_2",
          "format version 2 in the journal's head, with chain value 0 right",
          b.files(), b, expect="unsupported version")
    b = Builder("head version reserved")
    b.new_journal(version=2, zero=b"\1\2\3\4\5\6").put(A, b"1")
    write("journal_head_version_2_reserved", "the same, and what is zero in version 1 is not",
          b.files(), b, expect="unsupported version")


def irregular(write):
    """Writes records that are chained and sealed properly but that a writer may not write.

    In front of the mark they are damage. Behind it they are damage if the record at which the walk
    stops opens and has kind 2.
    """
    damage, dropped = "damage", "an unfinished write"
    cases = [
        ("number_gap", "a record number is left out", [Put(B, b"b", number=3)], damage),
        ("number_repeated", "a record number comes twice", [Put(B, b"b", number=1)], damage),
        ("number_zero", "a record is numbered 0", [Put(B, b"b", number=0)], damage),
        ("kind_8", "the kind has an unknown bit", [Put(B, b"b", kind=ONE | 8)], dropped),
        ("kind_128", "the kind has an unknown bit, the highest", [Put(B, b"b", kind=ONE | 128)],
         dropped),
        ("kind_8_alone", "the kind is 8", [Put(B, b"b", kind=8)], dropped),
        ("kind_128_alone", "the kind is 128", [Put(B, b"b", kind=128)], dropped),
        ("continues_without_start", "records continue and end a change that was not started",
         [Put(B, b"b", kind=0), Put(C, b"c", kind=LAST)], dropped),
        ("ends_without_start", "a record ends a change that was not started",
         [Put(B, b"b", kind=LAST)], dropped),
        ("start_inside_change", "a change starts within another",
         [Put(B, b"b", kind=FIRST), Put(C, b"c", kind=ONE)], damage),
        ("name_length_impossible", "the name's length is no multiple of 64",
         [Put(B, b"b", name_size=72)], dropped),
        ("name_length_zero", "the name has no bytes", [Put(B, b"b", key=b"", name_size=0)],
         dropped),
        ("name_length_too_large", "the name is longer than any name can be",
         [Put(B, b"b", name_size=16512)], dropped),
        ("value_length_impossible", "the value's length is none that the padding gives",
         [Put(B, b"b", size=130)], dropped),
        ("value_length_below_floor", "the value has 56 bytes, fewer than any",
         [Put(B, b"b", size=56)], dropped),
    ]
    for title, comment, entries, behind in cases:
        b = Builder("irregular " + title).put(A, b"a").change(*entries)
        write("irregular_" + title, comment + ", chained and sealed properly", b.files(), b,
              expect="corrupt",
              findings=["journal"], reads=[(A, "corrupt"), (B, "corrupt"), (NEVER, "corrupt")])
        outcome = dict(items={A: b"a"}, findings=["tail"], reads=[(B, "absent")])
        if behind is damage:
            outcome = dict(expect="corrupt", findings=["journal"],
                           reads=[(A, "corrupt"), (NEVER, "corrupt")])
        write(f"irregular_{title}_behind_mark", f"{comment}, behind the mark: {behind}",
              b.files(mark=b.mark(1)), b, **outcome)


def records(write):
    """Writes regular records in a valid chain of which a sealed part breaks a rule.

    Only a list opens a name, and only a read opens a value.
    """
    key = name_bytes(B)

    def case(title, comment, entry, tag_of=None, read=None):
        b = Builder("record " + title).put(A, b"a")
        if tag_of:
            entry.odd["tag"] = b.tag(name_bytes(tag_of))
        b.change(entry)
        if read is None:                    # under the tag of another key, this is not B's record
            read = b"b" if tag_of or not entry.odd.keys() & {"key", "tag"} else "absent"
        write("record_" + title, comment + ", chained and sealed properly", b.files(), b,
              expect="corrupt",
              findings=["journal"], reads=[(A, b"a"), (B, read), (NEVER, "absent")])

    def name(title, comment, odd_key, tag_of=None):
        case("name_" + title, comment, Put(B, b"b", key=odd_key), tag_of)

    case("tag_of_other_item", "the tag is another item's", Put(B, b"b", tag=bytes(15)))
    case("name_padding", "the name's padding is not zeros", Put(B, b"b", name_fill=b"\1"))
    case("name_padded_too_far", "the name is padded to 128 bytes instead of 64",
         Put(B, b"b", name_size=128))
    case("name_spoiled", "the sealed name does not open", Put(B, b"b", spoil="name"))
    name("of_other_item", "the name is another item's, under this item's tag", name_bytes(C),
         tag_of=B)
    for suffix, comment, tag_of in (("", ", under its own tag", None),
                                    ("_item_tag", ", under the tag of the right key", B)):
        name("trailing_byte" + suffix, "a byte follows the canonical name" + comment, key + b"\1",
             tag_of)
        name("presence_2" + suffix, "a presence byte is 2" + comment, b"\2" + key[1:], tag_of)
        name("longer_by_a_zero" + suffix,
             "the canonical name's last part is longer by a zero" + comment,
             key[:10] + struct.pack("<I", 5) + key[14:] + b"\0", tag_of)
    name("presence_255", "an absent part's presence byte is 255", key[:8] + b"\xff" + key[9:])
    name("not_utf8", "a part is not UTF-8", key[:-1] + b"\xff")
    name("surrogate", "a part has a surrogate in UTF-8", key[:-3] + b"\xed\xa0\x80")
    name("overlong", "a part has an overlong form in UTF-8", key[:-2] + b"\xc0\x80")
    name("no_service", "there is no service", b"\0" + key[8:])
    name("no_identifier", "there is no item identifier", name_bytes(("svc", None, None, None)))
    name("empty_service", "the service is empty", name_bytes(("", None, None, "beta")))
    name("empty_group", "the access group is empty", name_bytes(("svc", "", None, "beta")))
    name("empty_identifier", "the item identifier is empty", name_bytes(("svc", None, None, "")))
    name("identifier_4097", "the item identifier has 4097 bytes",
         name_bytes(("svc", None, None, "x" * 4097)))
    name("part_length_huge", "a part's length is 4 GiB less one", b"\1\xff\xff\xff\xff" + key[5:])
    name("cut", "the canonical name is cut", name_bytes(("svc", None, None, "x" * 60))[:64])
    name("of_void", "the name is empty, but this is no removal", b"")

    value = dict(read="corrupt")
    case("value_padding", "the value's padding is not zeros", Put(B, b"b", fill=b"\1"), **value)
    case("value_padded_too_far", "the value is padded to 72 bytes instead of 64",
         Put(B, b"b", size=72), **value)
    case("value_padded_far_too_far", "the value is padded to 128 bytes instead of 64",
         Put(B, b"b", size=128), **value)
    case("value_of_60_padded_too_far", "60 bytes of value need no more than 64",
         Put(B, b"b" * 60, size=72), **value)
    case("value_of_61_too_short", "61 bytes of value are said to be in 64",
         Put(B, b"b" * 60, length=61, size=64), **value)
    case("value_length_too_large", "the value's length is larger than its plaintext",
         Put(B, b"b", length=1000), **value)
    case("value_length_huge", "the value's length is 4 GiB less one",
         Put(B, b"b", length=2 ** 32 - 1), **value)
    case("value_length_short", "the value's length cuts it short", Put(B, b"two", length=1),
         **value)
    case("value_spoiled", "the sealed value does not open", Put(B, b"b", spoil="value"), **value)

    # Removals and superseded records are not opened by reads and lists.
    for part in ("name", "value"):
        b = Builder("superseded " + part).put(A, b"old", spoil=part).put(A, b"new").put(B, b"b")
        write(f"record_superseded_{part}_spoiled",
              f"a superseded record's {part} does not open: "
              "reads do not meet it, a verification does",
              b.files(), b, items={A: b"new", B: b"b"}, findings=["journal"])
    for title, comment, odd in (
            ("name_spoiled", "its name does not open: the chain proves that the item is gone",
             {"spoil": "name"}),
            ("value_spoiled", "its value does not open", {"spoil": "value"}),
            ("with_value", "it has a value", {"content": b"b"}),
            ("padding", "its padding is not zeros", {"fill": b"\1"}),
            ("padding_4_kib", "its padding is not zeros, at 4 KiB", {"size": 4096, "fill": b"\1"}),
            ("name_padding", "its name's padding is not zeros", {"name_fill": b"\1"}),
            ("name_of_other_item", "its name is another item's", {"key": name_bytes(C)})):
        b = Builder("removal " + title).put(A, b"a").put(B, b"b")
        b.remove(B, **{**odd, "tag": b.tag(key)})
        write("record_removal_" + title, f"a removal breaks a rule: {comment}", b.files(), b,
              items={A: b"a"}, reads=[(B, "absent")], findings=["journal"])
    for title, comment, odd in (("with_value", "it has a value", {"content": b"v"}),
                                ("tag", "its tag is not that of an empty key", {"tag": bytes(15)}),
                                ("longer_name", "its name has 128 zeros", {"name_size": 128}),
                                ("spoiled", "its name does not open", {"spoil": "name"})):
        b = Builder("void " + title).put(A, b"a").change(Void(**odd)).put(B, b"b")
        write("record_void_" + title, f"a void change breaks a rule: {comment}", b.files(), b,
              items={A: b"a", B: b"b"}, findings=["journal"])


def reserves(write):
    """Writes zeros behind the last whole change: room for the next changes, not reported."""
    b = four("reserve")
    for title, size in (("1_byte", 1), ("13_bytes", 13), ("4_kib", 4096), ("32_kib", 32768),
                        ("100_kib", 102400)):
        write("reserve_" + title, f"a reserve of {title.replace('_', ' ').replace('kib', 'KiB')}",
              b.files(journal=b.journal() + bytes(size)), b, items=FOUR, reads=[(NEVER, "absent")])
    data = b.journal() + RESERVE
    write("reserve_mark_missing", "a reserve while the mark is missing",
          b.files(journal=data, mark=None), b,
          expect="corrupt", reads=ALL_CORRUPT, findings=["mark"])
    write("reserve_mark_old", "a reserve behind two changes that are behind the mark",
          b.files(journal=data, mark=b.mark(2)), b, items=FOUR, findings=["tail"])
    b = Builder("reserve of an empty store")
    write("reserve_no_records", "a journal without records that has a reserve",
          b.files(journal=b.journal() + RESERVE), b, reads=[(NEVER, "absent")])

    b = Builder("reserve behind zeros").put(A, b"a").put(B, b"b", ends=bytes(2))
    data = b.journal() + RESERVE
    write("reserve_after_tag_with_zeros",
          "the last record's AEAD tag ends in two zeros, which belong to the record",
          b.files(journal=data), b, items={A: b"a", B: b"b"})
    write("reserve_after_tag_with_zeros_mark_old", "the same with a mark from before this record",
          b.files(journal=data, mark=b.mark(1)), b, items={A: b"a", B: b"b"}, findings=["tail"])


EXTRA = ("svc", None, None, "behind the mark")
NAME, VALUE = 72 + 10, 72 + 80 + 10       # places within the sealed parts of the shortest record


def zeroed(data, at, size):
    return data[:at] + bytes(size) + data[at + size:]


def tails(write):
    """Writes bytes behind the mark that are not damage: whole changes and unfinished writes.

    Whole changes count, an unfinished write does not.
    """

    def case(title, comment, build, edit=lambda tail: tail, items=FOUR, reads=None, **outcome):
        b = four("tail " + title)
        mark, start = b.mark(), len(b.journal())
        build(b)
        data = b.journal()
        if reads is None:
            reads = [] if EXTRA in items else [(EXTRA, "absent")]
        write("tail_" + title, comment, b.files(journal=data[:start] + edit(data[start:]),
                                                mark=mark), b,
              items=items, reads=reads, findings=["tail", *outcome.pop("findings", ())], **outcome)

    def one(b):
        return b.put(EXTRA, b"not confirmed")

    def over(b):
        return b.put(A, b"not confirmed")

    def two(b):
        return b.put(EXTRA, b"first").put(A, b"second")

    def three(b):                          # one change
        return b.change(Put(EXTRA, b"1"), Put(A, b"2"), Remove(B))

    def long(b):
        return b.put(EXTRA, bytes(range(256)) * 8)

    garbage = b"".join(blake(64, bytes([n])) for n in range(12))
    r = SHORTEST

    # Whole changes count.
    first, both = {**FOUR, EXTRA: b"first"}, {**FOUR, EXTRA: b"first", A: b"second"}
    confirmed, changed = {**FOUR, EXTRA: b"not confirmed"}, {**FOUR, EXTRA: b"1", A: b"2"}
    del changed[B]
    case("whole_one", "a whole change behind the mark counts", one, items=confirmed)
    case("whole_one_in_reserve", "a whole change and a reserve", one, lambda t: t + RESERVE,
         items=confirmed)
    case("whole_long", "a long change", long, items={**FOUR, EXTRA: bytes(range(256)) * 8})
    case("whole_two", "two whole changes", two, items=both)
    case("whole_five", "five whole changes, one of them of three records, one void",
         lambda b: three(two(b).remove(C).change(Void())),
         items={EXTRA: b"1", A: b"2", D: FOUR[D]}, reads=[(B, "absent"), (C, "absent")])
    case("whole_three", "a whole change of three records", three, items=changed,
         reads=[(B, "absent")])
    case("whole_removal", "a whole removal", lambda b: b.remove(A),
         items={name: value for name, value in FOUR.items() if name != A}, reads=[(A, "absent")])
    case("whole_void", "a void change", lambda b: b.change(Void()))
    case("whole_void_in_change", "a change of three records, one of them void",
         lambda b: b.change(Put(EXTRA, b"1"), Void(), Put(A, b"2")),
         items={**FOUR, EXTRA: b"1", A: b"2"})
    case("whole_then_cut", "a whole change, then a cut one: the first counts", two,
         lambda t: t[:-1], items=first)
    case("whole_then_garbage", "a whole change over garbage that is longer", one,
         lambda t: t + garbage, items=confirmed)
    case("whole_then_begun", "a whole change, then the first two records of another",
         lambda b: three(b.put(D, b"first")), lambda t: t[:3 * r], items={**FOUR, D: b"first"})
    case("whole_last_torn_value", "two changes, the value of the last one is torn, the chain holds",
         two, lambda t: flip(t, r + VALUE), items=first)
    case("whole_last_torn_name", "two changes, the name of the last one is torn, the chain holds",
         two, lambda t: flip(t, r + NAME), items=first)
    case("whole_last_torn_sector", "two changes, the last one lacks a sector, the chain holds",
         lambda b: long(b.put(A, b"second")), lambda t: zeroed(t, r + 700, 512),
         items={**FOUR, A: b"second"})
    case("whole_first_torn",
         "two changes, the first is torn inside: it counts, since the second was written after it",
         two, lambda t: flip(t, VALUE), items={}, expect="corrupt", findings=["journal"],
         reads=[(A, b"second"), (B, FOUR[B]), (EXTRA, "corrupt"), (NEVER, "absent")])
    case("whole_first_torn_last_torn", "two changes, both torn inside: only the first counts", two,
         lambda t: flip(flip(t, VALUE), r + VALUE), items={}, expect="corrupt",
         findings=["journal"],
         reads=[(A, FOUR[A]), (B, FOUR[B]), (EXTRA, "corrupt"), (NEVER, "absent")])
    for title, at in (("first", 0), ("middle", r), ("last", 2 * r)):
        for part, offset in (("name", NAME), ("value", VALUE)):
            comment = f"a change whose {title} record has a torn {part}, the chain holds"
            case(f"change_{title}_torn_{part}", comment, three, lambda t: flip(t, at + offset))

    # An unfinished write is ignored.
    case("prefix_one_byte", "a single byte of the next record", one, lambda t: t[:1])
    case("prefix_cut", "the next record ends within its chain value", one, lambda t: t[:71])
    case("prefix_only", "the next record without its sealed parts", one, lambda t: t[:72])
    case("name_cut", "the next record's name is cut", one, lambda t: t[:100])
    case("name_only", "the next record without its value", one, lambda t: t[:72 + 80])
    case("value_cut", "the next record's value is cut", one, lambda t: t[:200])
    case("value_cut_one_byte", "the next record lacks its last byte", one, lambda t: t[:-1])
    case("value_cut_in_reserve", "a cut record in a reserve", one, lambda t: t[:200] + RESERVE)
    case("overwrite_cut", "a cut record of an item that has an older value: the older one counts",
         over, lambda t: t[:-1])
    case("removal_cut", "a removal that is cut: the item stays", lambda b: b.remove(A),
         lambda t: t[:-1])
    case("void_cut", "a void change that is cut", lambda b: b.change(Void()), lambda t: t[:-1])
    case("void_torn", "a void change whose name is torn, the chain holds",
         lambda b: b.change(Void()), lambda t: flip(t, NAME))
    case("change_without_last", "a change without its last record", three, lambda t: t[:2 * r])
    case("change_first_only", "a change of which only the first record is there", three,
         lambda t: t[:r])
    case("change_last_cut", "a change whose last record is cut", three, lambda t: t[:-1])
    case("change_first_zero", "a change whose first record is zeros and whose others are there",
         three, lambda t: zeroed(t, 0, r))
    case("change_middle_zero", "a change whose second record is zeros", three,
         lambda t: zeroed(t, r, r))
    case("change_last_zero", "a change whose last record is zeros", three,
         lambda t: zeroed(t, 2 * r, r))
    case("change_chain_of_middle",
         "a change whose second record has another chain value: it opens, but has not kind 2",
         three, lambda t: flip(t, r + 60))
    case("change_second_only",
         "the second record of a change stands at the mark: it opens, but has not kind 2", three,
         lambda t: t[r:2 * r])
    case("change_last_only",
         "the last record of a change stands at the mark: it opens, but has not kind 2",
         three, lambda t: t[2 * r:])
    case("change_second_in_reserve", "the second record of a change stands deep in a reserve",
         three, lambda t: RESERVE + t[r:2 * r] + RESERVE)
    case("change_last_leftover", "a cut change in front of the last record of another", three,
         lambda t: t[:r - 5] + t[2 * r:])
    case("change_record_middle_zero",
         "a change that lacks a sector of its first record, everything else is there",
         lambda b: b.change(Put(EXTRA, bytes(range(256)) * 8), Put(A, b"2")),
         lambda t: zeroed(t, 800, 512))
    case("begun_then_zeros", "the beginning of a record, then zeros", one,
         lambda t: t[:100] + bytes(len(t) - 100))
    case("record_last_part_zero", "a whole record's length, its last part zeros", one,
         lambda t: zeroed(t, 216, 16))
    case("record_middle_zero", "a long record that lacks a sector of its value", long,
         lambda t: zeroed(t, 800, 512))
    case("record_middle_zero_in_reserve", "the same in a reserve", long,
         lambda t: zeroed(t, 800, 512) + RESERVE)
    case("first_sector_zero_in_reserve", "a long record in a reserve that lacks its first sector",
         long, lambda t: zeroed(t, 0, 512) + RESERVE)
    case("name_and_chain_torn", "a record torn at its start: neither chain nor name holds", one,
         lambda t: bytes(100) + t[100:])
    case("chain_and_name_torn", "a record whose chain value and name are torn", one,
         lambda t: flip(flip(t, 60), NAME))
    case("chain_and_value_torn", "a record whose chain value and value are torn", one,
         lambda t: flip(flip(t, 60), VALUE))
    case("nonce_torn", "a record whose nonce is torn: neither chain nor parts hold", one,
         lambda t: flip(t, 40))
    case("two_torn",
         "two changes: the first one's chain value and value are torn, the second one's name",
         two, lambda t: flip(flip(flip(t, 60), VALUE), r + NAME))
    case("tag_zeros_cut", "a record that lacks the two zeros with which its AEAD tag ends",
         lambda b: b.put(EXTRA, b"not confirmed", ends=bytes(2)), lambda t: t[:-2])
    case("garbage_short", "garbage shorter than a record", one, lambda t: garbage[:40])
    case("garbage_long", "garbage longer than a record", one, lambda t: garbage)
    case("cut_over_garbage", "a cut record over garbage that is longer", one,
         lambda t: t[:200] + garbage)
    case("length_huge_name", "the name's length is 4 GiB less one", one,
         lambda t: b"\xff" * 4 + t[4:])
    case("length_huge_value", "the value's length is 4 GiB less one", one,
         lambda t: t[:4] + b"\xff" * 4 + t[8:])
    case("byte_in_reserve", "a byte in the midst of a reserve is not zero", one,
         lambda t: RESERVE + b"\1" + RESERVE)

    b = Builder("tail of an empty store")
    mark = b.mark()
    b.put(A, b"not confirmed")
    write("tail_first_record_ever", "the very first record is unfinished",
          b.files(journal=b.journal()[:-5], mark=mark), b, reads=[(A, "absent")], findings=["tail"])
    write("tail_first_record_ever_whole", "the very first record is whole behind the mark",
          b.files(mark=mark), b, items={A: b"not confirmed"}, findings=["tail"])
    b = four("tail without mark").put(EXTRA, b"not confirmed")
    cut = b.journal()[:-5]
    write("tail_mark_missing", "an unfinished write while the mark is missing",
          b.files(journal=cut, mark=None), b, expect="corrupt", reads=ALL_CORRUPT,
          findings=["mark"])
    write("tail_mark_old", "two whole changes and an unfinished one behind the mark",
          b.files(journal=cut, mark=b.mark(2)), b, items=FOUR, reads=[(EXTRA, "absent")],
          findings=["tail"])
    other = four("tail of another journal")
    mark, data = other.mark(), other.journal()
    other.new_journal().put(A, b"foreign")
    write("tail_foreign_record",
          "a record of another journal stands at the mark and does not open here",
          other.files(journal=data + other.parts[1], mark=mark), other, items=FOUR,
          findings=["tail"])


def damages(write):
    def case(title, comment, b, parts, reads=ALL_CORRUPT, mark=None):
        write("damage_" + title, comment, b.files(journal=b.journal(parts), mark=mark or b.mark()),
              b, expect="corrupt", reads=reads, findings=["journal"])

    def flipped(seed, index, at, bit=1):
        b = four(seed)
        return b, [*b.parts[:index], flip(b.parts[index], at, bit), *b.parts[index + 1:]]

    # A flip in what the chain covers. The record cannot be opened then.
    spots = (("name_length", 0, 128), ("name_length_impossible", 0, 1), ("name_length_high", 3, 1),
             ("value_length", 4, 8), ("value_length_impossible", 4, 1), ("value_length_high", 7, 1),
             ("number", 8, 1), ("kind_removed", 16, REMOVED), ("kind_first", 16, FIRST),
             ("kind_last", 16, LAST), ("kind_unknown", 16, 8), ("tag", 20, 1), ("nonce", 32, 1),
             ("nonce_end", 55, 128), ("name_aead_tag", 72 + 79, 1), ("value_aead_tag", -1, 1))
    for where, index in (("middle", 2), ("last", 4)):
        for title, at, bit in spots:
            b, parts = flipped(f"damage {title} {where}", index, at, bit)
            case(f"{title}_{where}", f"a flip in the {where} record: {title.replace('_', ' ')}", b,
                 parts)

    # Ciphertext is not in the chain: a list opens all names and values, a read only its item's
    # value.
    for where, index in (("middle", 2), ("last", 4)):
        name = TEMPLATE[index - 1][0]
        b, parts = flipped(f"damage name {where}", index, NAME)
        case(f"name_{where}", f"a flip in the sealed name of the {where} record: the chain holds",
             b, parts, reads=[*TEMPLATE, (NEVER, "absent")])
        b, parts = flipped(f"damage value {where}", index, VALUE)
        case(f"value_{where}", f"a flip in the sealed value of the {where} record: the chain holds",
             b, parts,
             reads=[(other, "corrupt" if other == name else value) for other, value in TEMPLATE]
             + [(NEVER, "absent")])

    # Only chain values are damaged: every byte up to the mark is accounted for, so items in front
    # may be read.
    def in_front(count):
        return [(name, value if n < count else "corrupt") for n,
                (name, value) in enumerate(TEMPLATE)] + [
            (NEVER, "corrupt")]

    for where, index in (("first", 1), ("middle", 2), ("last", 4)):
        b, parts = flipped(f"damage chain {where}", index, 60)
        comment = f"a flip in the chain value of the {where} record"
        case(f"chain_{where}", comment + ": items in front of it may be read", b, parts,
             reads=in_front(index - 1))
        case(f"chain_{where}_and_reserve", comment + ", and a reserve", b, [*parts, RESERVE],
             reads=in_front(index - 1))
    b, p = flipped("damage two chains", 2, 60)
    case("chain_two", "flips in two chain values", b, [*p[:4], flip(p[4], 70)], reads=in_front(1))
    case("chain_mark_chain_differs",
         "a chain value is hit, and the records' true chain does not meet the mark's", b, p,
         mark=b.mark(chain=bytes(16)))
    case("chain_mark_version_differs",
         "a chain value is hit, and the number of changes does not meet the mark's", b, p,
         mark=b.mark(version=5))
    case("chain_mark_ahead", "a chain value is hit, and the mark is ahead of the journal", b, p,
         mark=b.mark(length=len(b.journal()) + 1))
    case("chain_and_garbage",
         "a chain value is hit and there is garbage behind the mark: nothing may be read", b,
         [*p, blake(20, b"garbage")])
    case("chain_and_garbage_in_reserve",
         "a chain value is hit and the reserve is not all zeros: nothing may be read", b,
         [*p, RESERVE, blake(20, b"garbage"), RESERVE])
    case("chain_and_value",
         "a chain value is hit and a later value does not open: nothing may be read", b,
         [*p[:3], flip(p[3], VALUE), p[4]])
    case("chain_and_name",
         "a chain value is hit and a later name does not open: nothing may be read", b,
         [*p[:3], flip(p[3], NAME), p[4]])
    case("chain_and_own_value", "a chain value is hit, and the value of the same record", b,
         [*p[:2], flip(p[2], VALUE), *p[3:]])
    case("chain_and_value_in_front",
         "a chain value is hit, and a value in front of it does not open", b,
         [p[0], flip(p[1], VALUE), *p[2:]], reads=[(name, "corrupt") for name in (A, B, C, D,
                                                                                  NEVER)])
    case("chain_and_dropped",
         "a chain value is hit and a later record is gone: nothing may be read", b, [*p[:3], p[4]])
    case("chain_and_last_zeroed",
         "a chain value is hit and the last record is zeros: nothing may be read", b,
         [*p[:4], bytes(SHORTEST), RESERVE])
    case("chain_and_mark_inside", "a chain value is hit and the mark stands within a record", b, p,
         mark=b.mark(3, length=600))
    b, p = flipped("damage chain and change behind", 2, 60)
    mark = b.mark()
    b.put(NEVER, b"not confirmed")
    case("chain_and_change_behind",
         "a chain value is hit and a whole change is behind the mark: nothing may be read", b,
         [*p, b.parts[5]], mark=mark)

    b = Builder("damage chain newer").put(A, b"old").put(B, b"b").put(C, b"c").put(A, b"new")
    case("chain_newer_value_behind",
         "a newer value stands behind the break: the older one must not be given",
         b, [*b.parts[:3], flip(b.parts[3], 60), b.parts[4]],
         reads=[(A, "corrupt"), (B, b"b"), (C, "corrupt"), (NEVER, "corrupt")])
    b = Builder("damage chain removed").put(A, b"a").remove(A).put(B, b"b").put(C, b"c")
    case("chain_removed_in_front",
         "an item removed in front of the break is not called absent either", b,
         [*b.parts[:3], flip(b.parts[3], 60), b.parts[4]],
         reads=[(A, "corrupt"), (B, "corrupt"), (C, "corrupt")])
    b = Builder("damage chain removed behind").put(A, b"a").put(B, b"b").put(C, b"c").remove(A)
    case("chain_removed_behind", "an item removed behind the break", b,
         [*b.parts[:3], flip(b.parts[3], 60), b.parts[4]],
         reads=[(A, "corrupt"), (B, b"b"), (C, "corrupt"), (NEVER, "corrupt")])
    b = Builder("damage chain in change").put(A, b"a").put(B, b"old")
    b.change(Put(B, b"new"), Put(C, b"2"), Put(D, b"3")).put(NEVER, b"n")
    p = b.parts
    reads = [(A, b"a"), (B, b"new"), (C, "corrupt"), (D, "corrupt"), (NEVER, "corrupt")]
    case("chain_inside_change",
         "a chain value within a change is hit: its records in front of that may be read", b,
         [*p[:4], flip(p[4], 60), *p[5:]], reads=reads)
    case("chain_inside_last_change", "the same, and the change is the last one", b,
         [*p[:4], flip(p[4], 60), p[5]], reads=reads, mark=b.mark(5))
    case("chain_inside_change_cut",
         "a chain value within a change is hit and the mark stands within the change", b,
         [*p[:4], flip(p[4], 60)], mark=b.mark(4))
    b = Builder("damage chain and zeros").put(A, b"a").put(B, b"b").put(C, b"c", ends=bytes(2))
    case("chain_and_tag_with_zeros",
         "a chain value is hit and the last AEAD tag before a reserve ends in two zeros", b,
         [*b.parts[:2], flip(b.parts[2], 60), b.parts[3], RESERVE],
         reads=[(A, b"a"), (B, "corrupt"), (C, "corrupt"), (NEVER, "corrupt")])
    b = Builder("damage chain and void").put(A, b"a").put(B, b"b").change(Void()).put(C, b"c")
    case("chain_and_void", "a chain value is hit and a void change is behind the break", b,
         [*b.parts[:2], flip(b.parts[2], 60), *b.parts[3:]],
         reads=[(A, b"a"), (B, "corrupt"), (C, "corrupt"), (NEVER, "corrupt")])

    # Records that moved, are repeated or are missing.
    b = four("damage order")
    p = b.parts
    for title, comment, parts in (
            ("swapped", "two records are swapped", [p[0], p[1], p[3], p[2], p[4]]),
            ("first_two_swapped", "the first two records are swapped",
             [p[0], p[2], p[1], p[3], p[4]]),
            ("last_two_swapped", "the last two records are swapped",
             [p[0], p[1], p[2], p[4], p[3]]),
            ("dropped_first", "the first record is gone", [p[0], *p[2:]]),
            ("dropped_middle", "a record is gone", [*p[:2], *p[3:]]),
            ("duplicated", "a record comes twice in a row", [*p[:3], p[2], *p[3:]]),
            ("replaced_by_older", "a record is replaced by an earlier one", [*p[:3], p[1], p[4]]),
            ("zeroed_middle", "a record is zeros", [*p[:2], bytes(SHORTEST), *p[3:]]),
            ("byte_inserted", "a byte is inserted between two records", [*p[:2], b"\0", *p[2:]]),
            ("byte_removed", "a byte is gone from a record",
             [*p[:2], p[2][:100] + p[2][101:], *p[3:]]),
            ("last_zeroed", "the last record is zeros", [*p[:4], bytes(SHORTEST)]),
            ("last_zeroed_then_more_zeros", "the last record is zeros, as is what follows",
             [*p[:4], RESERVE]),
            ("last_two_zeroed", "the last two records are zeros",
             [*p[:3], bytes(2 * SHORTEST), RESERVE]),
            ("all_zeroed", "all records are zeros, as is what follows", [p[0], RESERVE]),
            ("cut_between_records", "the last record is gone", p[:4]),
            ("cut_inside_record", "the last record is cut", [*p[:4], p[4][:100]]),
            ("cut_one_byte", "the last record lacks its last byte", [*p[:4], p[4][:-1]]),
            ("cut_to_head", "every record is gone", p[:1]),
            ("replayed_at_end", "an earlier record stands behind the mark once more", [*p, p[1]]),
            ("last_repeated_at_end", "the last record stands behind the mark once more",
             [*p, p[4]]),
            ("replayed_at_end_shifted", "an earlier record stands behind some garbage",
             [*p, b"???", p[1]]),
            ("replayed_in_reserve", "an earlier record stands deep in the reserve",
             [*p, RESERVE, p[1], RESERVE])):
        case(title, comment, b, parts)
    other = four("damage order").new_journal()
    for name, value in TEMPLATE:
        other.put(name, value)
    case("from_another_journal", "a record is taken from another journal of the same store", b,
         [*p[:3], other.parts[3], p[4]])
    b = four("damage lost change").change(Put(A, b"1"), Put(B, b"2"), Put(C, b"3"))
    case("change_cut", "a change in front of the mark has lost its last record", b, b.parts[:-1])
    b = Builder("damage newer overwritten").put(A, b"old").put(B, b"b").put(A, b"new")
    case("last_cut_older_exists", "the newest value is cut off: the older one must not be given", b,
         [*b.parts[:3], b.parts[3][:-1]], reads=[(A, "corrupt"), (B, "corrupt"),
                                                 (NEVER, "corrupt")])

    # Behind the mark: a record of kind 2 that opens in a place where no crash can leave it.
    b = four("damage behind")
    mark = b.mark()
    b.put(NEVER, b"first").put(A, b"second").change(Put(A, b"1"), Put(B, b"2"), Put(C, b"3"))
    p, behind = b.parts[:5], b.parts[5:]
    for title, comment, parts in (
            ("record_in_reserve", "the next record stands deep in the reserve",
             [RESERVE, behind[0], RESERVE]),
            ("record_at_odd_offset", "the next record stands 13 bytes behind the mark",
             [bytes(13), behind[0]]),
            ("record_behind_whole", "a whole change, and deep behind it the next",
             [behind[0], RESERVE, behind[1]]),
            ("start_in_reserve", "the first record of a change of three stands deep in the reserve",
             [RESERVE, behind[2], RESERVE]),
            ("first_chain", "a change at the mark has another chain value: it opens",
             [flip(behind[0], 60)]),
            ("first_chain_second_whole", "two changes, the first has another chain value",
             [flip(behind[0], 60), behind[1]]),
            ("first_torn_second_whole",
             "two changes, the first does not chain and does not open, the second opens",
             [zeroed(behind[0], 50, 60), behind[1]]),
            ("first_cut_second_whole",
             "two changes, the first lacks its last byte, the second opens",
             [behind[0][:-1], behind[1]]),
            ("first_zero_second_whole", "two changes, the first is zeros, the second opens",
             [bytes(SHORTEST), behind[1]]),
            ("second_without_first", "the second change stands at the mark", [behind[1]]),
            ("second_chain", "two changes, the second has another chain value: it opens",
             [behind[0], flip(behind[1], 60)]),
            ("third_start_chain",
             "the first record of the third change has another chain value: it opens",
             [behind[0], behind[1], flip(behind[2], 60), *behind[3:]]),
            ("last_torn_then_record",
             "a change that is torn inside, and deep behind it one that opens",
             [flip(behind[0], VALUE), RESERVE, behind[1]])):
        case("behind_" + title, comment, b, [*p, *parts], mark=mark)
    b = four("damage behind inside")
    mark, older = b.mark(), b.parts[1]
    *p, long = b.put(NEVER, bytes(2000)).parts
    case("behind_record_in_torn", "a change that is torn inside: an earlier record stands there", b,
         [*p, long[:400] + older + long[400 + len(older):]], mark=mark)
    b = Builder("damage two broken").put(A, b"a").put(B, b"b").change(Put(C, b"1"), Put(D, b"2"))
    case("behind_change_after_break",
         "behind the mark, a torn record and the start of another change", b,
         [*b.parts[:2], zeroed(b.parts[2], 60, 160), *b.parts[3:]], mark=b.mark(1))


def marks(write):
    b = four("mark")
    p, data, good = b.parts, b.journal(), b.mark()
    bad_mark = dict(builder=b, expect="corrupt", findings=["mark"], reads=ALL_CORRUPT)
    bad = dict(bad_mark, findings=["journal"])
    other = four("another mark")
    for title, comment, mark in (
            ("missing", "no mark", None), ("empty", "an empty mark", b""),
            ("short", "a mark cut short", good[:63]), ("half", "half a mark", good[:32]),
            ("long", "a mark with a byte too many", good + b"\0"),
            ("twice", "the mark comes twice", good + good), ("zeros", "a mark of zeros", bytes(64)),
            ("random", "random bytes", blake(64, b"random")),
            ("check_flip", "a mark whose check is wrong", b.mark(spoiled=True)),
            ("length_flip", "the length in the mark was changed without the key", flip(good, 18)),
            ("version_flip", "the version in the mark was changed without the key", flip(good, 24)),
            ("chain_flip", "the chain value in the mark was changed without the key",
             flip(good, 40)),
            ("torn", "half of the mark is that of an earlier change", good[:32] + b.mark(3)[32:]),
            ("other_journal", "a mark with a right check that names another journal",
             b.mark(journal_id=blake(16, b"another"))),
            ("other_journal_zero", "a mark with a right check that names the journal zero",
             b.mark(journal_id=bytes(16))),
            ("other_store", "the mark of another store", other.mark())):
        write("mark_" + title, comment, b.files(mark=mark), **bad_mark)
    for title, count in (("one_record", 4), ("to_head", 1)):
        write(f"mark_missing_cut_{title}",
              f"no mark, and the journal was cut ({title.replace('_', ' ')})",
              b.files(mark=None, journal=b.journal(p[:count])), **bad_mark)
    write("mark_missing_change_behind", "no mark, and a change that would open deep in a reserve",
          b.files(mark=None, journal=b.journal([*p[:4], RESERVE, p[4]])), **bad_mark)
    empty = Builder("mark of an empty store")
    write("mark_missing_empty_store", "a store without records whose mark is missing",
          empty.files(mark=None),
          empty, expect="corrupt", findings=["mark"], reads=[(NEVER, "corrupt")])

    # A lower mark was left by a power cut or was put back: whole changes behind it count.
    write("mark_old", "the mark is two changes old", b.files(mark=b.mark(2)), b, items=FOUR,
          findings=["tail"])
    write("mark_at_head", "the mark is that of the empty journal", b.files(mark=b.mark(0)), b,
          items=FOUR, findings=["tail"])
    write("mark_old_cut",
          "the mark is two changes old and the journal cut to it: right, as it was once",
          b.files(mark=b.mark(2), journal=b.journal(p[:3])), b, items=dict(TEMPLATE[:2]),
          reads=[(C, "absent")])
    write("mark_old_cut_further", "the mark is two changes old and the journal cut to one",
          b.files(mark=b.mark(2), journal=b.journal(p[:2])), **bad)

    size = len(data)
    for title, comment, mark in (
            ("ahead_one_byte", "the mark is one byte ahead of the journal",
             b.mark(length=size + 1)),
            ("ahead_far", "the mark names the largest length there is", b.mark(length=2 ** 64 - 1)),
            ("version_higher", "the mark's version is one too high", b.mark(version=5)),
            ("version_lower", "the mark's version is one too low", b.mark(version=3)),
            ("version_huge", "the mark's version is the largest there is",
             b.mark(version=2 ** 64 - 1)),
            ("chain_differs", "the mark's chain value is not the record's",
             b.mark(chain=bytes(16))),
            ("old_chain_differs", "an old mark's chain value is not the record's",
             b.mark(2, chain=bytes(16))),
            ("old_version_differs", "an old mark's version is not the one at its length",
             b.mark(2, version=4)),
            ("inside_record", "the mark's length falls within a record", b.mark(2, length=400)),
            ("inside_head", "the mark's length falls within the head", b.mark(0, length=10)),
            ("length_zero", "the mark's length is zero", b.mark(0, length=0)),
            ("head_version", "the mark of the empty journal with a version", b.mark(0, version=1)),
            ("head_chain", "the mark of the empty journal with another chain value",
             b.mark(0, chain=bytes(16)))):
        write("mark_" + title, comment, b.files(mark=mark), **bad)
    write("mark_ahead_one_record", "the mark is one record ahead: a confirmed change is lost",
          b.files(journal=b.journal(p[:4])), **bad)
    for title, comment, length in (("inside_reserve", "within the reserve", size + 100),
                                   ("at_reserve_end", "at the end of the reserve",
                                    size + len(RESERVE)),
                                   ("ahead_of_reserve", "behind the end of the reserve",
                                    size + len(RESERVE) + 1)):
        write("mark_" + title, f"the mark's length is {comment}",
              b.files(journal=data + RESERVE, mark=b.mark(length=length)), **bad)
    fork = Builder("mark")
    for name, value in TEMPLATE[:3]:
        fork.put(name, value)
    fork.put(D, b"another value!")
    assert fork.parts[:4] == p[:4]
    write("mark_of_a_fork",
          "the journal was put back and written on: its last record is not the confirmed one",
          b.files(journal=fork.journal()), **bad)
    for title, step in (("higher", 1), ("two_higher", 2)):
        c = Builder("head version " + title).new_journal(first_version=step).put(A, b"a")
        write(f"mark_head_version_{title}",
              f"the head's version is {title.replace('_', ' ')} than the mark says",
              c.files(mark=c.mark(version=1)), c, expect="corrupt", findings=["journal"],
              reads=[(A, "corrupt"), (NEVER, "corrupt")])
    c = Builder("mark inside change").put(A, b"a").change(Put(B, b"b"), Put(C, b"c"))
    for version in (1, 2):
        write(f"mark_inside_change_version_{version}", "the mark stands within a change",
              c.files(mark=c.mark(2, version=version)), c, expect="corrupt", findings=["journal"],
              reads=[(A, "corrupt"), (B, "corrupt"), (NEVER, "corrupt")])


def main():
    directory = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    os.makedirs(directory, exist_ok=True)
    for old in os.listdir(directory):
        if old.endswith(".txt"):
            os.remove(os.path.join(directory, old))
    write = Writer(directory)
    for group in (contents, compactions, slots, headers, rotations, journals, irregular, records,
                  reserves, tails, damages, marks):
        group(write)
    print(f"{write.count} vectors")


if __name__ == "__main__":
    main()
