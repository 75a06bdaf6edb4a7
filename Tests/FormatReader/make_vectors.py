#!/usr/bin/env python3
"""Writes the test vectors of the sealed file store, format 1: make_vectors.py VECTORDIR

A writer that shares no code with the reader beside it, so that each checks the other's reading of
the specification. Keys, salts and nonces come from a fixed sequence, which makes the output the
same on every run and this program unfit for storing anything.
"""

import hashlib
import os
import struct
import sys

from nacl import bindings

FIRST, LAST, REMOVED = 2, 4, 1
ONE = FIRST | LAST
RESERVE = bytes(4096)


# --- primitives, written apart from the reader's ----------------------------------------------

def blake(size, data, key=b""):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def subkey(key, number):
    return hashlib.blake2b(digest_size=32, key=key, salt=number.to_bytes(16, "little"),
                           person=b"SSNTOOLS".ljust(16, b"\0")).digest()


def sip(key, data):
    return bindings.crypto_shorthash_siphashx24(data, key)


def padded_size(length):
    length = max(length, 128)
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
    """The same bytes with one bit turned over; `at` counts from the end when negative."""
    out = bytearray(data)
    out[at] ^= bit
    return bytes(out)


# --- building a store -------------------------------------------------------------------------

class Put:
    def __init__(self, name, value, flags=None, **odd):
        self.name, self.value, self.flags, self.odd = name, value, flags, odd


class Remove(Put):
    def __init__(self, name, **odd):
        super().__init__(name, b"", **odd)


class Builder:
    """One store. Every random byte is drawn from a sequence fixed by the store's seed."""

    def __init__(self, seed):
        self.seed, self.drawn = seed.encode(), 0
        self.sk, self.mk, self.store_id, self.raw = self.draw(32), self.draw(32), self.draw(16), self.draw(32)
        self.slots = [(1, b"", self.raw)]
        self.new_journal()

    def draw(self, size):
        self.drawn += 1
        return blake(size, self.drawn.to_bytes(8, "little"), key=self.seed[:64])

    def seal(self, key, plain, bound):
        nonce = self.draw(24)
        return nonce + bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(plain, bound, nonce, key)

    # header

    def header(self, version=1, zero=0, count=None, extra=b"", mac_flip=False, data_flip=False,
               slot_edit=None, attacker_edit=None):
        """`attacker_edit` changes the bytes under the MAC and mends the checksum, which needs no key."""
        bound = b"SSNTOOLS" + struct.pack("<H", version) + self.store_id
        out = b"SSNTOOLS" + struct.pack("<HHI", version, len(self.slots) if count is None else count, zero)
        out += self.store_id
        for index, (kind, parameters, kek) in enumerate(self.slots):
            prefix = struct.pack("<HH", kind, len(parameters)) + parameters
            wrapped = self.seal(kek, self.sk, bound + prefix)
            if slot_edit and slot_edit[0] == index:
                wrapped = slot_edit[1](wrapped)
            out += prefix + wrapped
        wrapped = self.seal(self.sk, self.mk, bound + b"data")
        out += (flip(wrapped, 30) if data_flip else wrapped) + extra
        edited = attacker_edit(out) if attacker_edit else out
        mac = blake(32, out + blake(16, out), key=subkey(self.sk, 1))
        return edited + blake(16, edited) + (flip(mac, 0) if mac_flip else mac)

    # journal

    def chain_key(self):
        return subkey(self.mk, 4)[:16]

    def new_journal(self, version=1, magic=b"SSNTJRN1", zero=bytes(6), store_id=None, chain_flip=False,
                    journal_id=None):
        self.journal_id = journal_id or self.draw(16)
        head = magic + struct.pack("<H", version) + zero + (store_id or self.store_id) + self.journal_id
        self.chain = sip(self.chain_key(), head)
        self.parts = [head + (flip(self.chain, 3) if chain_flip else self.chain)]   # head, then the records
        self.number, self.ends, self.names = 0, [], []
        return self

    def compacted(self):
        """Begins the journal that takes this one's place: its identifier comes from the last mark."""
        return self.new_journal(journal_id=sip(self.chain_key(), b"SSNTNEXT" + self.mark()[:48]))

    def change(self, *entries):
        for index, entry in enumerate(entries):
            flags = (FIRST if index == 0 else 0) | (LAST if index == len(entries) - 1 else 0)
            flags |= REMOVED if isinstance(entry, Remove) else 0
            self.record(entry, flags if entry.flags is None else entry.flags, **entry.odd)
        return self

    def put(self, name, value, **odd):
        return self.change(Put(name, value, **odd))

    def remove(self, name):
        return self.change(Remove(name))

    def record(self, entry, flags, number=None, zero=bytes(3), key=None, tag=None, plain=None, size=None,
               fill=b"\0", value=None, key_len=None, value_len=None, length=None, sealed_flip=None, ends=b""):
        """The keywords make a record that is chained and sealed properly, yet breaks a rule; but for `ends`,
        with which the AEAD's tag ends."""
        self.number = self.number + 1 if number is None else number
        key = name_bytes(entry.name) if key is None else key
        value = entry.value if value is None else value
        body = struct.pack("<II", len(key) if key_len is None else key_len,
                           len(value) if value_len is None else value_len) + key + value
        body = plain if plain is not None else body.ljust(size or padded_size(len(body)), fill)
        tag = blake(16, key, key=subkey(self.mk, 2)) if tag is None else tag
        bound = struct.pack("<IB3sQ16s", 24 + len(body) + 16 if length is None else length, flags, zero,
                            self.number, tag)
        sealed = self.seal(subkey(self.mk, 3), body, self.journal_id + bound)
        while not sealed.endswith(ends):           # another nonce
            sealed = self.seal(subkey(self.mk, 3), body, self.journal_id + bound)
        if sealed_flip is not None:
            sealed = flip(sealed, sealed_flip)     # before chaining, as a writer with a bug would
        self.chain = sip(self.chain_key(), self.chain + bound + sealed[-16:])
        self.parts.append(bound + self.chain + sealed)
        self.names.append(entry.name)
        self.ends.append((len(self.journal()), self.number, self.chain))

    def journal(self, parts=None):
        return b"".join(self.parts if parts is None else parts)

    def mark(self, upto=None, length=None, number=None, chain=None, journal_id=None, spoiled=False):
        """The mark after record `upto` (all of them when not given, none when 0)."""
        ends = [(64, 0, self.parts[0][48:64])] + self.ends
        end = ends[-1 if upto is None else upto]
        data = (journal_id or self.journal_id) + struct.pack(
            "<QQ16s", end[0] if length is None else length, end[1] if number is None else number, chain or end[2])
        seal = sip(self.chain_key(), data)
        return data + (flip(seal, 0) if spoiled else seal)

    def files(self, **changed):
        """The store's files; a keyword replaces one (None leaves it out), `_` stands for a dot."""
        header = self.header()
        out = {"header": header, "header.copy": header, "journal": self.journal(), "lock": b"",
               "mark": self.mark()}
        both = changed.pop("headers", None)
        if both is not None:
            out["header"] = out["header.copy"] = both
        out.update({name.replace("_", "."): data for name, data in changed.items()})
        return {name: data for name, data in out.items() if data is not None}


# --- writing a vector -------------------------------------------------------------------------

def part_hex(text):
    return "-" if text is None else text.encode().hex()


def name_hex(name):
    return " ".join(part_hex(part) for part in name)


def value_hex(value):
    if not value:
        return "empty"
    return value.hex() if len(value) <= 4096 else "blake2b:" + blake(32, value).hex()


class Writer:
    def __init__(self, directory):
        self.directory, self.count = directory, 0

    def __call__(self, title, comment, files, builder=None, expect="success", items=None, reads=(),
                 findings=(), key=None):
        """`key` is a list of header lines; without it the builder's raw key is used."""
        lines = ["expect: " + expect, "comment: " + comment]
        lines += key or ["raw-key: " + builder.raw.hex()]
        for name, value in sorted((items or {}).items(), key=lambda item: name_bytes(item[0])):
            lines.append(f"item: {name_hex(name)} {value_hex(value)}")
        for name, answer in reads:
            lines.append(f"read: {name_hex(name)} {answer if isinstance(answer, str) else value_hex(answer)}")
        lines += ["finding: " + kind for kind in findings]
        lines.append("")
        for name in sorted(files):
            lines.append(f"file: {name} {len(files[name])}")
            text = files[name].hex()
            lines += [text[at:at + 64] for at in range(0, len(text), 64)]
        path = os.path.join(self.directory, title + ".txt")
        if os.path.exists(path):
            raise SystemExit(f"two vectors are called {title}")
        with open(path, "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
        self.count += 1


A = ("svc", None, None, "alpha")
B = ("svc", None, None, "beta")
C = ("svc", "grp", None, "gamma")
D = ("svc", None, None, "delta")
NEVER = ("svc", None, None, "never stored")
TEMPLATE = [(A, b"value of alpha"), (B, b"value of beta"), (C, b"value of gamma"), (D, b"value of delta")]


def four(seed):
    """Four items in four changes: the store most damage is done to."""
    builder = Builder(seed)
    for name, value in TEMPLATE:
        builder.put(name, value)
    return builder


FOUR = dict(TEMPLATE)
ALL_CORRUPT = [(name, "corrupt") for name in (A, B, C, D, NEVER)]


def contents(write):
    b = Builder("empty")
    write("ok_empty", "a new store without any record", b.files(), b, reads=[(NEVER, "absent")])

    b = four("four")
    write("ok_four", "four items, one change each", b.files(), b, items=FOUR, reads=[(NEVER, "absent")])

    b = Builder("empty value").put(A, b"")
    write("ok_value_empty", "an empty value is a value, not an absent item", b.files(), b, items={A: b""})

    overhead = 8 + len(name_bytes(A))
    for total in (127, 128, 129, 144, 145, 255, 256, 257, 272, 273, 4096, 65536, 65537):
        value = (blake(64, b"long") * (total // 64 + 1))[:total - overhead]
        b = Builder(f"size {total}").put(A, value)
        write(f"ok_size_{total}", f"lengths, key and value together are {total} bytes before padding",
              b.files(), b, items={A: value})

    names = {(s, g, i, d): f"{g} {i}".encode() for s in ("svc",) for g in (None, "g") for i in (None, "i")
             for d in ("id",)}
    b = Builder("parts")
    for name, value in names.items():
        b.put(name, value)
    write("ok_parts", "access group and install identifier, each present or absent: four different items",
          b.files(), b, items=names, reads=[(("svc", "i", None, "id"), "absent")])

    names = {("a", "b", None, "c"): b"1", ("a", None, "b", "c"): b"2", ("ab", None, None, "c"): b"3",
             ("a", None, None, "bc"): b"4"}
    b = Builder("shifted").change(*[Put(name, value) for name, value in names.items()])
    write("ok_parts_shifted", "the same letters in different parts make different items", b.files(), b, items=names)

    odd = ["\U0001F511\U0001F469\u200D\U0001F4BB", "a\0b", "two\nlines", "x" * 4096, " ", "-", "e\u0301", "\u00e9",
           "\u202eright to left", "\U0010ffff", "../../etc", "\0"]
    names = {("svc", None, None, text): str(index).encode() for index, text in enumerate(odd)}
    names[("\U0001F4E6\n", "\0", "\u4e2d", "id")] = b"odd in every part"
    b = Builder("odd names")
    for name, value in names.items():
        b.put(name, value)
    write("ok_names_odd", "identifiers are any UTF-8, compared as bytes: no normalisation, 4096 bytes at most",
          b.files(), b, items=names)

    b = Builder("all long").put(("s" * 4096, "g" * 4096, "i" * 4096, "d" * 4096), b"v")
    write("ok_names_longest", "every part of the name is 4096 bytes long", b.files(), b,
          items={("s" * 4096, "g" * 4096, "i" * 4096, "d" * 4096): b"v"})

    b = Builder("binary").put(A, bytes(range(256)) + b"\0\0\0")
    write("ok_value_binary", "a value of all bytes that ends in zeros", b.files(), b,
          items={A: bytes(range(256)) + b"\0\0\0"})

    b = Builder("overwrite").put(A, b"old").put(B, b"other").put(A, b"new")
    write("ok_overwritten", "the newest record of an item counts", b.files(), b, items={A: b"new", B: b"other"})

    b = Builder("removed").put(A, b"old").put(B, b"stays").remove(A)
    write("ok_removed", "a removed item is absent", b.files(), b, items={B: b"stays"}, reads=[(A, "absent")])

    b = Builder("removed again").put(A, b"old").remove(A).put(A, b"back")
    write("ok_removed_put_again", "an item put again after its removal", b.files(), b, items={A: b"back"})

    b = Builder("remove nothing").remove(A).put(B, b"b")
    write("ok_removed_never_put", "a removal of an item that never was", b.files(), b, items={B: b"b"},
          reads=[(A, "absent")])

    b = Builder("all removed").put(A, b"a").put(B, b"b").change(Remove(A), Remove(B))
    write("ok_all_removed", "everything removed by one change", b.files(), b, reads=[(A, "absent"), (B, "absent")])

    b = Builder("multi").put(D, b"before").change(Put(A, b"1"), Put(B, b"2"), Remove(D), Put(C, b"3"))
    write("ok_change_of_four", "one change of four records, one of them a removal", b.files(), b,
          items={A: b"1", B: b"2", C: b"3"}, reads=[(D, "absent")])

    b = Builder("twice").change(Put(A, b"first"), Put(B, b"b"), Put(A, b"second"))
    write("ok_change_same_item_twice", "within one change the later record counts as well", b.files(), b,
          items={A: b"second", B: b"b"})

    b = Builder("put then remove").change(Put(A, b"first"), Remove(A), Put(B, b"b"))
    write("ok_change_put_and_removed", "put and removed within one change", b.files(), b, items={B: b"b"},
          reads=[(A, "absent")])

    b = Builder("many")
    many = {("svc", None, None, f"item {n:03}"): str(n).encode() for n in range(40)}
    for name, value in many.items():
        b.put(name, value)
    write("ok_forty_changes", "forty changes", b.files(), b, items=many)

    b = four("compacted")
    before, old_mark, not_the_last = b.journal(), b.mark(), b.mark(3)
    b.compacted().change(Put(B, b"value of beta"), Put(A, b"value of alpha"))
    kept = {A: b"value of alpha", B: b"value of beta"}
    write("ok_compacted", "after compaction: new journal id, records numbered from 1 again", b.files(), b,
          items=kept, reads=[(C, "absent")])
    write("ok_compacted_old_mark", "after compaction, before its first mark: the journal is named after the old one",
          b.files(mark=old_mark), b, items=kept, findings=["mark"])
    put_back = dict(builder=b, expect="corrupt", findings=["journal", "mark"], reads=ALL_CORRUPT)
    write("compacted_journal_put_back", "the journal from before a compaction was put back: the mark is of the new one",
          b.files(journal=before), **put_back)
    write("compacted_earlier_mark", "a mark of the old journal that is not the one the compaction started from",
          b.files(mark=not_the_last), **put_back)
    b.compacted().change(Put(A, b"value of alpha"))
    write("compacted_twice_old_mark", "a mark from before the last compaction but one", b.files(mark=old_mark), **put_back)

    b = four("compacting")
    write("ok_compaction_interrupted", "an unfinished journal.next without header.next is no part of the store",
          b.files(journal_next=b.journal()[:300]), b, items=FOUR)


def slots(write):
    b = four("labelled")
    b.slots = [(1, "Schl\u00fcssel im Tresor".encode(), b.raw)]
    write("slot_raw_labelled", "a raw key slot with a label", b.files(), b, items=FOUR)

    def passphrase(b, text, passes=1, memory=8192, kek=True, salt=None):
        salt = salt or b.draw(16)
        key = bindings.crypto_pwhash_alg(32, text.encode(), salt, passes, memory * 1024,
                                         bindings.crypto_pwhash_ALG_ARGON2ID13) if kek else b.draw(32)
        return 2, struct.pack("<II", passes, memory) + salt, key

    for passes in (1, 2, 3):
        b = four(f"passphrase {passes}")
        b.slots = [passphrase(b, "correct horse battery staple", passes)]
        write(f"slot_passphrase_t{passes}", f"a passphrase slot of {passes} passes over 8 MiB", b.files(),
              items=FOUR, key=["passphrase: correct horse battery staple"])
    write("slot_passphrase_wrong", "a wrong passphrase", b.files(), expect="wrong key",
          key=["passphrase: correct horse battery stable"])
    write("slot_passphrase_but_raw_key", "a raw key for a store that has a passphrase slot only", b.files(),
          expect="wrong key", key=["raw-key: " + b.raw.hex()])

    b = four("normalised")
    b.slots = [passphrase(b, "\u00c5ngstr\u00f6m \ud55c\uae00")]
    write("slot_passphrase_nfc", "the passphrase is given decomposed and the slot was made of the composed form",
          b.files(), items=FOUR,
          key=["passphrase-hex: " + "A\u030angstro\u0308m \u1112\u1161\u11ab\u1100\u1173\u11af".encode().hex()])
    b = four("not normalised")
    b.slots = [passphrase(b, "a\u030a")]
    write("slot_passphrase_not_nfc", "a slot made of the decomposed form breaks the format and cannot be opened",
          b.files(), expect="wrong key", key=["passphrase-hex: " + "a\u030a".encode().hex()])
    b = four("compatibility")
    b.slots = [passphrase(b, "\ufb01")]
    write("slot_passphrase_not_nfkc", "NFC leaves the ligature alone, so the two letters do not open it", b.files(),
          expect="wrong key", key=["passphrase: fi"])

    b.slots = [passphrase(b, "\ufb01")]
    write("slot_passphrase_nfc_keeps_ligature", "NFC leaves the ligature alone on both sides", b.files(), items=FOUR,
          key=["passphrase-hex: " + "\ufb01".encode().hex()])

    b = four("named")
    b.slots = [(3, b"keyring:example/main", b.raw)]
    write("slot_named", "a named key", b.files(), items=FOUR, key=["named-key: keyring:example/main " + b.raw.hex()])
    write("slot_named_other_reference", "the right key under another reference is not tried", b.files(),
          expect="wrong key", key=["named-key: keyring:example/other " + b.raw.hex()])
    write("slot_named_wrong_key", "the right reference holds another key", b.files(), expect="wrong key",
          key=["named-key: keyring:example/main " + b.sk.hex()])
    write("slot_named_but_raw_key", "the right key given as a raw key does not fit a named slot", b.files(),
          expect="wrong key", key=["raw-key: " + b.raw.hex()])

    b = four("two slots")
    b.slots = [(1, b"first", b.draw(32)), (1, b"second", b.raw)]
    write("slot_second_of_two", "the key fits the second slot only", b.files(), b, items=FOUR)

    b = four("mixed")
    b.slots = [passphrase(b, "recovery"), (1, b"", b.draw(32)), (3, b"tpm", b.draw(32))]
    files = b.files()
    write("slot_mixed_passphrase", "three kinds of slot: opened by the passphrase", files, items=FOUR,
          key=["passphrase: recovery"])
    write("slot_mixed_raw", "three kinds of slot: opened by the raw key", files, items=FOUR,
          key=["raw-key: " + b.slots[1][2].hex()])
    write("slot_mixed_named", "three kinds of slot: opened by the named key", files, items=FOUR,
          key=["named-key: tpm " + b.slots[2][2].hex()])

    b = four("sixteen")
    b.slots = [(1, f"slot {n}".encode(), b.draw(32)) for n in range(15)] + [(1, b"slot 15", b.raw)]
    write("slot_last_of_sixteen", "sixteen slots, the key fits the last", b.files(), b, items=FOUR)

    for title, count, comment in (("slot_count_0", 0, "no slot"), ("slot_count_17", 17, "seventeen slots")):
        b = four(title)
        b.slots = [(1, b"", b.raw)] * count
        write(title, comment + ", with checksum and MAC right", b.files(), b, expect="corrupt")
    b = four("count too small")
    b.slots = [(1, b"", b.raw)] * 2
    write("slot_count_too_small", "two slots where the count says one", b.files(headers=b.header(count=1)), b,
          expect="corrupt")
    write("slot_count_too_large", "two slots where the count says three", b.files(headers=b.header(count=3)), b,
          expect="corrupt")

    b = four("unknown kind")
    b.slots = [(9, b"something later", b.draw(32)), (1, b"", b.raw)]
    write("slot_unknown_kind_skipped", "a slot of unknown kind beside a good one is skipped", b.files(), b, items=FOUR)
    b = four("only unknown")
    b.slots = [(9, b"", b.raw)]
    write("slot_unknown_kind_only", "a slot of unknown kind opens for nobody", b.files(), b, expect="wrong key")
    b = four("kind zero")
    b.slots = [(0, b"", b.raw)]
    write("slot_kind_zero", "kind 0 is unknown as well", b.files(), b, expect="wrong key")

    for size in (23, 25):
        b = four(f"parameters {size}")
        kind, parameters, kek = passphrase(b, "short")
        b.slots = [(kind, (parameters + b"\0")[:size], kek), (1, b"", b.raw)]
        write(f"slot_passphrase_params_{size}", f"a passphrase slot with {size} bytes of parameters, beside a good slot",
              b.files(), b, expect="corrupt")
    b = four("label")
    b.slots = [(1, b"\xff\xfe", b.raw)]
    write("slot_label_not_utf8", "a label that is not UTF-8, with checksum and MAC right", b.files(), b, expect="corrupt")
    b = four("slot length")
    write("slot_params_length_beyond_header", "a slot's parameter length runs past the header, checksum mended",
          b.files(headers=b.header(attacker_edit=lambda h: h[:34] + b"\xff\xff" + h[36:])), b, expect="corrupt")
    write("slot_params_length_plus_one", "a slot's parameter length is one too large, checksum mended",
          b.files(headers=b.header(attacker_edit=lambda h: h[:34] + b"\1\0" + h[36:])), b, expect="corrupt")

    # A refusal comes before the cost is spent, so the key in these slots may be anything.
    for title, passes, memory in (("t0", 0, 8192), ("t11", 11, 8192), ("t_huge", 2 ** 32 - 1, 8192), ("m0", 1, 0),
                                  ("m_below_8_mib", 1, 8191), ("m_above_1_gib", 1, 1048577),
                                  ("m_huge", 1, 2 ** 32 - 1)):
        b = four("argon " + title)
        b.slots = [passphrase(b, "text", passes, memory, kek=False)]
        write("slot_argon_" + title, f"a passphrase slot with t = {passes} and {memory} KiB: refused before it is spent",
              b.files(), expect="refused", key=["passphrase: text"])
    b.slots.append((1, b"", b.raw))
    write("slot_argon_refused_but_raw_key", "limits on a passphrase slot do not concern a raw key", b.files(), b,
          items=FOUR)
    b.slots = [b.slots[0], passphrase(b, "text")]
    write("slot_argon_refused_but_second_opens", "one passphrase slot is refused and the next opens", b.files(),
          items=FOUR, key=["passphrase: text"])

    b = four("wrong key")
    write("slot_raw_wrong_key", "another raw key", b.files(), expect="wrong key", key=["raw-key: " + b.sk.hex()])
    write("slot_raw_store_key_itself", "the data key given as a raw key", b.files(), expect="wrong key",
          key=["raw-key: " + b.mk.hex()])


def headers(write):
    b = four("header")
    good = b.header()
    write("header_copy_missing", "the copy is missing: reported", b.files(header_copy=None), b, items=FOUR,
          findings=["header copy"])
    write("header_copy_damaged", "the copy is damaged: reported", b.files(header_copy=flip(good, 40)), b, items=FOUR,
          findings=["header copy"])
    write("header_copy_older", "the copy is another valid header of the store: reported",
          b.files(header=good, header_copy=b.header()), b, items=FOUR, findings=["header copy"])
    write("header_missing", "the header is missing: the copy is used", b.files(header=None, header_copy=good), b,
          items=FOUR, findings=["header"])
    write("header_empty", "the header is empty: the copy is used", b.files(header=b""), b, items=FOUR,
          findings=["header"])
    for title, at in (("magic", 0), ("version", 8), ("count", 10), ("store_id", 20), ("slot_kind", 32),
                      ("slot_length", 35), ("slot_key", 70), ("data_key", 140), ("checksum", -40)):
        write(f"header_flip_{title}", f"a bit of the header is flipped ({title.replace('_', ' ')}): the copy is used",
              b.files(header=flip(good, at, 2), header_copy=good), b, items=FOUR, findings=["header"])
    write("header_truncated", "the header is cut short: the copy is used", b.files(header=good[:-1]), b, items=FOUR,
          findings=["header"])
    write("header_trailing_byte", "a byte after the header's end: the copy is used",
          b.files(header=good + b"\0", header_copy=good), b, items=FOUR, findings=["header"])
    write("header_damaged_wrong_key", "the header is damaged and the key does not fit the copy",
          b.files(header=flip(good, 40)), expect="wrong key", key=["raw-key: " + b.sk.hex()])

    write("header_both_missing", "neither header nor copy, but a journal: damage, not an absent store",
          b.files(header=None, header_copy=None), b, expect="corrupt")
    write("header_both_damaged", "header and copy are damaged", b.files(header=flip(good, 40), header_copy=flip(good, 99)),
          b, expect="corrupt")
    write("header_both_truncated_slot", "header and copy end within the slot", b.files(headers=good[:70]), b,
          expect="corrupt")
    write("header_both_trailing_byte", "a byte after the end of header and copy", b.files(headers=good + b"\0"), b,
          expect="corrupt")
    write("header_both_empty", "header and copy are empty", b.files(headers=b""), b, expect="corrupt")
    write("header_both_wrong_magic", "another magic in header and copy", b.files(headers=flip(good, 0)), b,
          expect="corrupt")
    write("header_damaged_wrong_key_both", "a damaged header and copy are damage even with a wrong key",
          b.files(headers=flip(good, 40)), expect="corrupt", key=["raw-key: " + b.sk.hex()])

    write("header_mac_wrong", "the checksum is right and the MAC is wrong", b.files(headers=b.header(mac_flip=True)), b,
          expect="corrupt")
    write("header_mac_wrong_copy_good", "a wrong MAC is no accident, so the good copy does not help",
          b.files(header=b.header(mac_flip=True), header_copy=good), b, expect="corrupt")
    write("header_mac_wrong_wrong_key", "a wrong MAC shows only after a slot was opened",
          b.files(headers=b.header(mac_flip=True)), expect="wrong key", key=["raw-key: " + b.sk.hex()])
    write("header_data_key_swapped", "the wrapped data key is of another header, checksum mended",
          b.files(headers=b.header(attacker_edit=lambda h: h[:-72] + b.draw(64) + b.draw(8))), b, expect="corrupt")
    write("header_data_key_spoiled", "the wrapped data key does not open, checksum and MAC right",
          b.files(headers=b.header(data_flip=True)), b, expect="corrupt")
    write("header_slot_spoiled", "the only slot is spoiled and the checksum mended: no slot opens",
          b.files(headers=b.header(slot_edit=(0, lambda s: flip(s, 30)))), b, expect="wrong key")
    write("header_label_changed", "the slot's label was changed and the checksum mended: the slot is bound to it",
          b.files(headers=labelled_header("label changed", lambda h: h[:36] + b"X" + h[37:])), expect="wrong key",
          key=["raw-key: " + labelled("label changed").raw.hex()])

    b = four("other slot")
    b.slots = [(1, b"mine", b.raw), (1, b"other", b.draw(32))]
    edited = b.header(attacker_edit=lambda h: flip(h, 32 + 4 + 4 + 72 + 4 + 5 + 50))
    write("header_other_slot_spoiled", "another slot was changed and the checksum mended: the MAC shows it",
          b.files(headers=edited), b, expect="corrupt")
    edited = b.header(attacker_edit=lambda h: h[:10] + b"\1\0" + h[12:112] + h[112 + 81:])
    write("header_other_slot_dropped", "another slot was dropped and the checksum mended: the MAC shows it",
          b.files(headers=edited), b, expect="corrupt")

    b = four("header fields")
    write("header_zero_field", "the zero field is not zero, checksum and MAC right", b.files(headers=b.header(zero=1)), b,
          expect="corrupt")
    write("header_extra_bytes", "bytes between data key and checksum, checksum and MAC right",
          b.files(headers=b.header(extra=b"\0")), b, expect="corrupt")
    write("header_version_2", "format version 2 in header and copy, checksum and MAC right",
          b.files(headers=b.header(version=2)), b, expect="unsupported version")
    write("header_version_0", "format version 0 in header and copy, checksum and MAC right",
          b.files(headers=b.header(version=0)), b, expect="unsupported version")
    write("header_version_2_wrong_key", "the version comes before the key", b.files(headers=b.header(version=2)),
          expect="unsupported version", key=["raw-key: " + b.sk.hex()])
    write("header_version_2_copy_1", "a good header of version 2 beside an old copy: the copy is not used",
          b.files(header=b.header(version=2)), b, expect="unsupported version")
    write("store_missing", "an empty directory holds no store", {}, b, expect="not found")
    write("store_only_lock", "nothing but a lock", {"lock": b""}, b, expect="not found")


def labelled(seed):
    b = four(seed)
    b.slots = [(1, b"mine", b.raw)]
    return b


def labelled_header(seed, edit):
    return labelled(seed).header(attacker_edit=edit)


def rotations(write):
    new = {A: b"value of alpha", B: b"value of beta"}

    def rotated(b, revoke=None):
        """Header, journal and mark after a rotation; the builder then stands for the new state."""
        old = b.files()
        b.mk = b.draw(32)
        if revoke:
            b.sk, b.slots = b.draw(32), revoke
        b.new_journal().change(*[Put(name, value) for name, value in new.items()])
        return old, b.header(), b.journal(), b.mark()

    b = four("rotated")
    old, header, journal, mark = rotated(b)
    write("rotation_done", "after a rotation: new data key, new journal", b.files(), b, items=new,
          reads=[(C, "absent")])
    write("rotation_before_rename", "interrupted before journal.next was renamed: the old state counts",
          {**old, "header.next": header, "journal.next": journal}, b, items=FOUR, findings=["rotation"])
    write("rotation_before_rename_damaged_next", "interrupted while header.next was being written: the old state counts",
          {**old, "header.next": header[:100]}, b, items=FOUR, findings=["rotation"])
    write("rotation_after_rename", "interrupted after the rename: the new state counts, the mark is still the old one",
          {**old, "header.next": header, "journal": journal}, b, items=new, reads=[(C, "absent")],
          findings=["mark", "rotation"])
    write("rotation_after_header", "interrupted after the header followed, before its copy did",
          {**old, "header": header, "header.next": header, "journal": journal, "mark": mark}, b, items=new,
          findings=["header copy", "rotation"])
    write("rotation_after_headers", "interrupted before header.next was taken away",
          {**old, "header": header, "header.copy": header, "header.next": header, "journal": journal, "mark": mark}, b,
          items=new, findings=["rotation"])
    write("rotation_after_rename_wrong_key", "interrupted after the rename, wrong key",
          {**old, "header.next": header, "journal": journal}, expect="wrong key", key=["raw-key: " + b.sk.hex()])
    write("rotation_after_rename_header_damaged", "interrupted after the rename, and the header is damaged: copy, then next",
          {**old, "header": flip(old["header"], 50), "header.next": header, "journal": journal}, b, items=new,
          findings=["header", "mark", "rotation"])
    write("rotation_next_missing", "the journal is under a new data key and header.next is gone",
          {**old, "journal": journal}, b, expect="corrupt", findings=["journal"], reads=ALL_CORRUPT)
    write("rotation_next_damaged", "the journal is under a new data key and header.next is damaged",
          {**old, "journal": journal, "header.next": flip(header, 99)}, b, expect="corrupt",
          findings=["journal", "rotation"], reads=ALL_CORRUPT)
    write("rotation_header_new_journal_old", "the headers are new and the journal is the old one",
          {**old, "header": header, "header.copy": header}, b, expect="corrupt", findings=["journal"],
          reads=ALL_CORRUPT)
    fake = b.header(mac_flip=True)
    write("rotation_next_mac_wrong", "header.next has a wrong MAC",
          {**old, "header.next": fake, "journal": journal}, b, expect="corrupt")
    b.store_id = b.draw(16)
    write("rotation_next_other_store", "header.next is of another store that happens to have the same keys",
          {**old, "header.next": b.header(), "journal": b.new_journal().put(A, b"1").journal()}, b, expect="corrupt",
          findings=["journal", "rotation"])

    b = four("revoked")
    lost = b.draw(32)
    b.slots = [(1, b"kept", b.raw), (1, b"revoked", lost)]
    old, header, journal, mark = rotated(b, [(1, b"kept", b.raw)])
    write("revocation_done", "after a revocation: new store key, one slot dropped", b.files(), b, items=new)
    write("revocation_done_revoked_key", "the revoked key no longer opens", b.files(), expect="wrong key",
          key=["raw-key: " + lost.hex()])
    write("revocation_after_rename", "a revocation interrupted after the rename, with the kept key",
          {**old, "header.next": header, "journal": journal}, b, items=new, findings=["mark", "rotation"])
    write("revocation_after_rename_revoked_key", "the same with the revoked key: it opens the old header, not the new one",
          {**old, "header.next": header, "journal": journal}, expect="wrong key", key=["raw-key: " + lost.hex()])


def journals(write):
    b = four("journal")
    whole = b.journal()
    bad = dict(builder=b, expect="corrupt", reads=ALL_CORRUPT, findings=["journal"])
    write("journal_missing", "a header without a journal: damage, not an empty store", b.files(journal=None), **bad)
    write("journal_empty", "an empty journal file", b.files(journal=b""), **bad)
    write("journal_short_head", "the journal ends within its head", b.files(journal=whole[:63]), **bad)
    write("journal_wrong_magic_flip", "the magic was changed", b.files(journal=flip(whole, 7)), **bad)
    write("journal_chain0_flip", "chain 0 was changed", b.files(journal=flip(whole, 50)), **bad)
    write("journal_id_flip", "the journal id was changed", b.files(journal=flip(whole, 40)), **bad)
    write("journal_version_flip", "the version was changed without the key: unauthenticated, so damage",
          b.files(journal=flip(whole, 9)), **bad)
    write("journal_zeros", "the journal is all zeros", b.files(journal=bytes(len(whole))), **bad)
    other = four("another store")
    write("journal_of_another_store", "journal and mark of another store",
          b.files(journal=other.journal(), mark=other.mark()), **bad)

    for title, comment, odd in (("magic", "another magic", {"magic": b"SSNTJRN2"}),
                                ("zero_field", "a zero field that is not zero", {"zero": b"\0\0\0\0\0\1"}),
                                ("store_id", "another store id", {"store_id": bytes(16)})):
        b = Builder("head " + title)
        b.new_journal(**odd).put(A, b"1")
        write(f"journal_head_{title}", f"{comment} in the journal's head, with chain 0 right", b.files(), b,
              expect="corrupt", findings=["journal"], reads=[(A, "corrupt"), (NEVER, "corrupt")])
    b = Builder("head version")
    b.new_journal(version=2).put(A, b"1")
    write("journal_head_version_2", "format version 2 in the journal's head, with chain 0 right", b.files(), b,
          expect="unsupported version")


def irregular(write):
    """Chained and sealed properly, yet not what a writer may write: corrupt, never an unfinished end."""
    cases = [
        ("number_gap", "a record number is left out", [Put(B, b"b", number=3)]),
        ("number_repeated", "a record number comes twice", [Put(B, b"b", number=1)]),
        ("number_zero", "a record numbered 0", [Put(B, b"b", number=0)]),
        ("zero_field", "a record's zero field is not zero", [Put(B, b"b", zero=b"\0\0\1")]),
        ("flag_8", "an unknown flag", [Put(B, b"b", flags=ONE | 8)]),
        ("flag_128", "an unknown flag in the highest bit", [Put(B, b"b", flags=ONE | 128)]),
        ("continues_without_start", "a record that only continues, where no change was started",
         [Put(B, b"b", flags=0), Put(C, b"c", flags=LAST)]),
        ("ends_without_start", "a record that only ends, where no change was started", [Put(B, b"b", flags=LAST)]),
        ("start_inside_change", "a second start within a change", [Put(B, b"b", flags=FIRST), Put(C, b"c", flags=ONE)]),
        ("length_impossible", "n that no padding yields", [Put(B, b"b", size=130)]),
    ]
    for title, comment, entries in cases:
        b = Builder("irregular " + title).put(A, b"a")
        b.change(*entries)
        write("irregular_" + title, comment + ", chained and sealed properly", b.files(), b, expect="corrupt",
              findings=["journal"], reads=[(A, "corrupt"), (B, "corrupt"), (NEVER, "corrupt")])
        if title in ("number_gap", "start_inside_change", "continues_without_start"):
            write(f"irregular_{title}_beyond_mark", comment + ", beyond the mark: still no unfinished end",
                  b.files(mark=b.mark(1)), b, expect="corrupt", findings=["journal"],
                  reads=[(A, "corrupt"), (NEVER, "corrupt")])

    # The chain holds and the records are regular: only the item concerned fails, and the list with it.
    key = name_bytes(B)
    cases = [
        ("tag_of_other_item", "the tag is another item's", Put(B, b"b", tag=bytes(16))),
        ("padding", "padding that is not zeros", Put(B, b"b", fill=b"\1")),
        ("padded_too_far", "padded further than the rule says", Put(B, b"b", size=144)),
        ("value_length_too_large", "a value length beyond the plaintext", Put(B, b"b", value_len=1000)),
        ("value_length_huge", "a value length of 4 GiB less one", Put(B, b"b", value_len=2 ** 32 - 1)),
        ("key_length_too_large", "a canonical key length beyond the plaintext", Put(B, b"b", key_len=1000)),
        ("key_length_short", "the canonical key's length cuts it short", Put(B, b"b", key_len=len(key) - 1)),
        ("key_trailing_byte", "a byte after the canonical key's end", Put(B, b"b", key=key + b"\0")),
        ("key_presence_2", "a presence byte of 2", Put(B, b"b", key=b"\2" + key[1:])),
        ("key_not_utf8", "a canonical key that is not UTF-8", Put(B, b"b", key=key[:-1] + b"\xff")),
        ("key_surrogate", "a surrogate in UTF-8", Put(B, b"b", key=key[:-3] + b"\xed\xa0\x80")),
        ("key_overlong", "an overlong form in UTF-8", Put(B, b"b", key=key[:-2] + b"\xc0\x80")),
        ("key_trailing_byte_item_tag", "a byte after the canonical key's end, under the tag of the key without it",
         Put(B, b"b", key=key + b"\0", tag_of=B)),
        ("key_presence_2_item_tag", "a presence byte of 2, under the tag of the key with a 1",
         Put(B, b"b", key=b"\2" + key[1:], tag_of=B)),
        ("key_presence_255", "an absent part's presence byte is 255", Put(B, b"b", key=key[:8] + b"\xff" + key[9:])),
        ("key_of_other_item", "the key is another item's, under this item's tag",
         Put(B, b"b", key=name_bytes(C), tag_of=B)),
        ("key_no_service", "a canonical key without a service", Put(B, b"b", key=b"\0" + key[8:])),
        ("key_no_identifier", "a canonical key without an item identifier",
         Put(B, b"b", key=name_bytes(("svc", None, None, None)))),
        ("key_empty_identifier", "an item identifier that is empty",
         Put(B, b"b", key=name_bytes(("svc", None, None, "")))),
        ("key_empty_service", "a service that is empty", Put(B, b"b", key=name_bytes(("", None, None, "beta")))),
        ("key_identifier_4097", "an item identifier of 4097 bytes",
         Put(B, b"b", key=name_bytes(("svc", None, None, "x" * 4097)))),
        ("key_part_length_huge", "a part's length of 4 GiB less one",
         Put(B, b"b", key=b"\1\xff\xff\xff\xff" + key[5:])),
        ("sealed_spoiled", "a sealed part that does not open", Put(B, b"b", sealed_flip=30)),
    ]
    for title, comment, entry in cases:
        b = Builder("plain " + title).put(A, b"a")
        # A record with B's key bears B's tag, so that reading B meets it. One with an odd key bears the
        # odd key's own tag, so that the key alone is wrong: only a list meets it.
        # Odd keys under the tag of the item they nearly name are met by both.
        tag_of = entry.odd.pop("tag_of", None)
        elsewhere = not tag_of and ("tag" in entry.odd or "key" in entry.odd)
        if tag_of:
            entry.odd["tag"] = blake(16, name_bytes(tag_of), key=subkey(b.mk, 2))
        b.change(entry)
        write("record_" + title, comment + ", chained and sealed properly", b.files(), b, expect="corrupt",
              findings=["journal"], reads=[(A, b"a"), (B, "absent" if elsewhere else "corrupt"), (NEVER, "absent")])
    b = Builder("superseded").put(A, b"old").put(A, b"new").put(B, b"b")
    b.parts[1] = flip(b.parts[1], 48 + 30)
    write("record_superseded_spoiled", "a superseded record does not open: reads do not meet it, verify does",
          b.files(), b, items={A: b"new", B: b"b"}, findings=["journal"])
    b = Builder("removal spoiled").put(A, b"old").remove(A).put(B, b"b")
    b.parts[2] = flip(b.parts[2], 48 + 30)
    write("record_removal_spoiled", "a removal that does not open: the chain proves that the item is gone",
          b.files(), b, items={B: b"b"}, reads=[(A, "absent")], findings=["journal"])
    b = Builder("removal with value").put(A, b"a").put(B, b"b")
    b.change(Put(B, b"b", flags=ONE | REMOVED))
    write("record_removed_with_value", "a removal that has a value, chained and sealed properly",
          b.files(), b, items={A: b"a"}, reads=[(B, "absent")], findings=["journal"])


def reserves(write):
    """Zeros behind the last whole change: room for the next ones, and nothing to report."""
    b = four("reserve")
    for title, size in (("1_byte", 1), ("13_bytes", 13), ("4_kib", 4096), ("32_kib", 32768)):
        write("reserve_" + title, f"a reserve of {title.replace('_', ' ').replace('kib', 'KiB')}",
              b.files(journal=b.journal() + bytes(size)), b, items=FOUR, reads=[(NEVER, "absent")])
    b = Builder("reserve of an empty store")
    write("reserve_no_records", "a journal without records that has a reserve",
          b.files(journal=b.journal() + RESERVE), b, reads=[(NEVER, "absent")])

    b = four("reserve and mark")
    data = b.journal() + RESERVE
    write("reserve_mark_missing", "a reserve while the mark is missing", b.files(journal=data, mark=None), b,
          items=FOUR, findings=["mark"])
    write("reserve_mark_damaged", "a reserve while the mark is damaged",
          b.files(journal=data, mark=flip(b.mark(), 17)), b, items=FOUR, findings=["mark"])
    write("reserve_mark_old", "a reserve while the mark is old", b.files(journal=data, mark=b.mark(2)), b, items=FOUR)

    b = Builder("reserve behind zeros").put(A, b"a").put(B, b"b", ends=bytes(2))
    data = b.journal() + RESERVE
    write("reserve_after_tag_with_zeros", "the last record's AEAD tag ends in two zeros, which belong to the record",
          b.files(journal=data), b, items={A: b"a", B: b"b"})
    write("reserve_after_tag_with_zeros_mark_old", "the same with a mark from before this record",
          b.files(journal=data, mark=b.mark(1)), b, items={A: b"a", B: b"b"})


def tails(write):
    """Unfinished ends: what a crash may leave after the last confirmed change."""
    extra = ("svc", None, None, "unfinished")

    def case(title, comment, build, edit=lambda tail: tail):
        b = four("tail " + title)
        mark, start = b.mark(), len(b.journal())
        build(b)
        data = b.journal()
        write("tail_" + title, comment, b.files(journal=data[:start] + edit(data[start:]), mark=mark), b, items=FOUR,
              reads=[(extra, "absent")], findings=["tail"])

    one = lambda b: b.put(extra, b"never confirmed")
    over = lambda b: b.put(A, b"never confirmed")
    three = lambda b: b.change(Put(extra, b"1"), Put(A, b"2"), Remove(B))
    case("prefix_one_byte", "a single byte of the next record", one, lambda t: t[:1])
    case("prefix_cut", "the next record's prefix is cut", one, lambda t: t[:47])
    case("prefix_only", "the next record's prefix alone", one, lambda t: t[:48])
    case("body_cut", "the next record's sealed part is cut", one, lambda t: t[:150])
    case("body_cut_one_byte", "the next record lacks its last byte", one, lambda t: t[:-1])
    case("overwrite_cut", "a cut record of an item that has an older value: the older one counts", over, lambda t: t[:-1])
    case("removal_cut", "a removal that is cut: the item stays", lambda b: b.remove(A), lambda t: t[:-1])
    case("change_without_last", "a change without its last record", three, lambda t: t[:2 * 216])
    case("change_first_only", "a change of which only the first record is there", three, lambda t: t[:216])
    case("change_last_cut", "a change whose last record is cut", three, lambda t: t[:-1])
    case("change_middle_zero", "a change with a page of zeros in its middle, as torn writes leave it", three,
         lambda t: t[:216] + bytes(216) + t[432:])
    case("change_first_zero", "a change whose first record is zeros and whose others are there", three,
         lambda t: bytes(216) + t[216:])
    case("change_last_zero", "a change whose last record is zeros", three, lambda t: t[:432] + bytes(216))
    case("begun_then_zeros", "the beginning of a record, then zeros", one, lambda t: t[:60] + bytes(len(t) - 60))
    case("record_last_part_zero", "a whole record's length, its last part zeros", one, lambda t: t[:200] + bytes(16))
    case("garbage_short", "garbage shorter than a record", one, lambda t: blake(40, b"garbage"))
    case("garbage_long", "garbage longer than a record", one,
         lambda t: b"".join(blake(64, bytes([n])) for n in range(12)))
    case("length_huge", "a length of 4 GiB less one", one, lambda t: b"\xff\xff\xff\xff" + t[4:])
    long = lambda b: b.put(extra, bytes(range(256)) * 8)
    case("record_middle_zero", "a long record without the sector in its middle: the chain holds, the AEAD does not", long,
         lambda t: t[:800] + bytes(512) + t[1312:])
    case("change_record_middle_zero", "a change that lacks a sector of its first record, everything else is there",
         lambda b: b.change(Put(extra, bytes(range(256)) * 8), Put(A, b"2")), lambda t: t[:800] + bytes(512) + t[1312:])
    zeros = lambda b: b.put(extra, b"never confirmed", ends=bytes(2))
    case("tag_zeros_cut", "a record that lacks the two zeros with which its AEAD tag ends", zeros, lambda t: t[:-2])
    # The flags of a change are written last, when all else is there.
    unflagged = lambda t: t[:4] + b"\0" + t[5:] + RESERVE
    case("flags_zero_in_reserve", "a whole record in a reserve that has no flags yet", one, unflagged)
    case("change_flags_zero_in_reserve", "a whole change in a reserve whose first record has no flags yet", three, unflagged)
    case("body_cut_in_reserve", "a cut record in a reserve", one, lambda t: t[:150] + RESERVE)
    case("byte_in_reserve", "a byte in the midst of a reserve that is not zero", one, lambda t: RESERVE + b"\1" + RESERVE)
    case("first_sector_zero_in_reserve", "a long record in a reserve without its first sector", long,
         lambda t: bytes(512) + t[512:] + RESERVE)
    case("record_middle_zero_in_reserve", "a long record in a reserve without the sector in its middle", long,
         lambda t: t[:800] + bytes(512) + t[1312:] + RESERVE)
    case("ciphertext_and_chain_torn", "a last record torn at its start: neither chain nor AEAD holds", one,
         lambda t: bytes(100) + t[100:])
    b = Builder("tail of an empty store")
    mark = b.mark()
    b.put(A, b"never confirmed")
    write("tail_first_record_ever", "the very first record is unfinished", b.files(journal=b.journal()[:-5], mark=mark), b,
          reads=[(A, "absent")], findings=["tail"])
    b = four("tail without mark").put(extra, b"never confirmed")
    write("tail_mark_missing", "an unfinished end while the mark is missing",
          b.files(journal=b.journal()[:-5], mark=None), b, items=FOUR, findings=["mark", "tail"])
    b = four("tail without a good mark").put(extra, b"never confirmed")
    write("tail_mark_damaged", "an unfinished end while the mark is damaged",
          b.files(journal=b.journal()[:-5], mark=flip(b.mark(4), 17)), b, items=FOUR, findings=["mark", "tail"])
    b = four("tail and old mark").put(extra, b"never confirmed")
    write("tail_mark_old", "an unfinished end while the mark is old",
          b.files(journal=b.journal()[:-5], mark=b.mark(2)), b, items=FOUR, findings=["tail"])
    b = four("confirmed without mark").put(extra, b"confirmed, mark lost")
    write("tail_none_mark_old", "a whole change beyond the mark counts", b.files(mark=b.mark(4)), b,
          items={**FOUR, extra: b"confirmed, mark lost"})


def damages(write):
    def parts_of(seed):
        b = four(seed)
        return b, b.parts

    def case(title, comment, b, parts, reads=ALL_CORRUPT, mark=True, findings=()):
        mark = b.mark() if mark is True else mark
        write("damage_" + title, comment, b.files(journal=b"".join(parts), mark=mark), b, expect="corrupt", reads=reads,
              findings=["journal", *findings])

    # Where a flip in a record's prefix or AEAD tag breaks the chain and the record cannot be opened.
    spots = (("length", 0, 16), ("flags", 4, 4), ("removed_flag", 4, 1), ("zero_field", 6, 1), ("number", 8, 1),
             ("tag", 20, 1), ("aead_tag", -1, 1))
    for where, index in (("middle", 2), ("last", 4)):
        for title, at, bit in spots:
            b, parts = parts_of(f"damage {title} {where}")
            parts = parts[:index] + [flip(parts[index], at, bit)] + parts[index + 1:]
            case(f"{title}_{where}", f"a flip in the {title.replace('_', ' ')} of the {where} record", b, parts)
            if where == "middle":
                case(f"{title}_{where}_no_mark", f"the same flip ({title.replace('_', ' ')}) without a mark: a later record opens",
                     b, parts, mark=None, findings=["mark"])

    # Nonce and ciphertext are not in the chain: only the item concerned fails, and the list with it.
    for where, index in (("middle", 2), ("last", 4)):
        for title, at in (("nonce", 48 + 3), ("ciphertext", 48 + 24 + 20)):
            b, parts = parts_of(f"damage {title} {where}")
            parts = parts[:index] + [flip(parts[index], at)] + parts[index + 1:]
            name = TEMPLATE[index - 1][0]
            case(f"{title}_{where}", f"a flip in the {title} of the {where} record: the chain holds", b, parts,
                 reads=[(other, "corrupt" if other == name else value) for other, value in TEMPLATE] + [(NEVER, "absent")])

    # Chain values alone: every byte is accounted for, so items without a record beyond may be read.
    for where, index in (("first", 1), ("middle", 2), ("last", 4)):
        b, parts = parts_of(f"damage chain {where}")
        parts = parts[:index] + [flip(parts[index], 40)] + parts[index + 1:]
        case(f"chain_{where}", f"a flip in the chain value of the {where} record: items before it may be read", b, parts,
             reads=[(name, value if n < index else "corrupt") for n, (name, value) in enumerate(TEMPLATE, 1)]
             + [(NEVER, "corrupt")])
    b, parts = parts_of("damage two chains")
    case("chain_two", "flips in two chain values", b, parts[:2] + [flip(parts[2], 40), parts[3], flip(parts[4], 33)],
         reads=[(A, TEMPLATE[0][1]), (B, "corrupt"), (C, "corrupt"), (D, "corrupt"), (NEVER, "corrupt")])
    b, parts = parts_of("damage chain no mark")
    case("chain_middle_no_mark", "a flip in a chain value without a mark", b,
         parts[:2] + [flip(parts[2], 40)] + parts[3:], mark=None, findings=["mark"],
         reads=[(A, TEMPLATE[0][1]), (B, "corrupt"), (NEVER, "corrupt")])
    b = Builder("damage chain newer").put(A, b"old").put(B, b"b").put(C, b"c").put(A, b"new")
    case("chain_newer_value_beyond", "a newer value stands beyond the damage: the older one must not be given", b,
         b.parts[:3] + [flip(b.parts[3], 40)] + b.parts[4:],
         reads=[(A, "corrupt"), (B, b"b"), (C, "corrupt"), (NEVER, "corrupt")])
    b = Builder("damage chain removed").put(A, b"a").remove(A).put(B, b"b").put(C, b"c")
    case("chain_removed_before", "an item removed before the damage is not called absent either", b,
         b.parts[:3] + [flip(b.parts[3], 40)] + b.parts[4:], reads=[(A, "corrupt"), (B, "corrupt"), (C, "corrupt")])
    b = Builder("damage chain in change").put(A, b"a").change(Put(B, b"1"), Put(C, b"2"), Put(D, b"3")).put(NEVER, b"n")
    case("chain_inside_change", "a flip in a chain value within a change: all of its items stand beyond", b,
         b.parts[:3] + [flip(b.parts[3], 40)] + b.parts[4:],
         reads=[(A, b"a"), (B, "corrupt"), (C, "corrupt"), (D, "corrupt"), (NEVER, "corrupt")])
    b = Builder("damage chain in change, older").put(A, b"a").put(B, b"old").change(Put(B, b"new"), Put(C, b"2")).put(D, b"3")
    case("chain_inside_change_older_exists", "the same, where the change's intact record has an older value before it", b,
         b.parts[:4] + [flip(b.parts[4], 40)] + b.parts[5:],
         reads=[(A, b"a"), (B, "corrupt"), (C, "corrupt"), (D, "corrupt"), (NEVER, "corrupt")])
    b, parts = parts_of("damage chain last no mark")
    case("chain_last_no_mark", "a flip in the last chain value without a mark: its record opens, so it is no torn write", b,
         parts[:4] + [flip(parts[4], 40)], mark=None, findings=["mark"],
         reads=[(A, TEMPLATE[0][1]), (B, TEMPLATE[1][1]), (C, TEMPLATE[2][1]), (D, "corrupt"), (NEVER, "corrupt")])
    b, parts = parts_of("damage chain and unfinished change")
    mark = b.mark()
    b.change(Put(D, b"1"), Put(NEVER, b"2"))
    case("chain_and_unfinished_change", "a chain value is hit and the journal ends within a change: nothing may be read", b,
         parts[:2] + [flip(parts[2], 40)] + parts[3:-1], mark=mark)
    b, parts = parts_of("damage chain and tail")
    case("chain_and_garbage", "a chain value is hit and bytes at the end belong to no record: nothing may be read", b,
         parts[:2] + [flip(parts[2], 40)] + parts[3:] + [blake(20, b"garbage")])
    b, parts = parts_of("damage chain and garbage in reserve")
    case("chain_and_garbage_in_reserve", "a chain value is hit and the reserve is not all zeros: nothing may be read", b,
         parts[:2] + [flip(parts[2], 40)] + parts[3:] + [RESERVE, blake(20, b"garbage"), RESERVE])
    b, parts = parts_of("damage chain and ciphertext")
    case("chain_and_ciphertext", "a chain value is hit and a later record does not open: nothing may be read", b,
         parts[:2] + [flip(parts[2], 40), flip(parts[3], 100), parts[4]])
    b, parts = parts_of("damage chain and drop")
    case("chain_and_dropped", "a chain value is hit and a later record is gone: nothing may be read", b,
         parts[:2] + [flip(parts[2], 40), parts[4]], mark=None, findings=["mark"])
    b, parts = parts_of("damage chain, mark odd")
    case("chain_mark_disagrees", "a chain value is hit and the mark beyond disagrees with the records' true chain", b,
         parts[:2] + [flip(parts[2], 40)] + parts[3:], mark=b.mark(chain=bytes(16)))

    # A reserve behind the records changes none of these answers.
    for where, index in (("middle", 2), ("last", 4)):
        for suffix, mark in (("", True), ("_no_mark", None)):
            b, parts = parts_of(f"damage chain {where} and reserve" + suffix)
            case(f"chain_{where}_and_reserve{suffix}", f"a flip in the chain value of the {where} record, and a reserve", b,
                 parts[:index] + [flip(parts[index], 40)] + parts[index + 1:] + [RESERVE], mark=mark,
                 findings=() if mark else ["mark"],
                 reads=[(name, value if n < index else "corrupt") for n, (name, value) in enumerate(TEMPLATE, 1)]
                 + [(NEVER, "corrupt")])
    b = Builder("damage chain and zeros").put(A, b"a").put(B, b"b").put(C, b"c", ends=bytes(2))
    case("chain_and_tag_with_zeros", "a chain value is hit and the last AEAD tag before a reserve ends in two zeros", b,
         b.parts[:2] + [flip(b.parts[2], 40), b.parts[3], RESERVE],
         reads=[(A, b"a"), (B, "corrupt"), (C, "corrupt"), (NEVER, "corrupt")])
    b, parts = parts_of("damage chain and zeroed")
    case("chain_and_last_zeroed", "a chain value is hit and the last confirmed record is zeros, as is what follows", b,
         parts[:2] + [flip(parts[2], 40), parts[3], bytes(216), RESERVE])
    b, parts = parts_of("damage chain and flags")
    mark = b.mark()
    b.put(NEVER, b"never confirmed")
    case("chain_and_flags_zero", "a chain value is hit and a record without flags is in the reserve: nothing may be read", b,
         parts[:2] + [flip(parts[2], 40), *parts[3:5], flip(parts[5], 4, ONE), RESERVE], mark=mark)
    b = Builder("damage chain beyond mark").put(A, b"a").put(B, b"old").change(Put(B, b"new"), Put(C, b"2"), Put(D, b"3"))
    case("chain_inside_change_beyond_mark", "a flip in a chain value within an unconfirmed change: its record opens", b,
         b.parts[:4] + [flip(b.parts[4], 40)] + b.parts[5:], mark=b.mark(2),
         reads=[(A, b"a"), (B, "corrupt"), (C, "corrupt"), (D, "corrupt"), (NEVER, "corrupt")])

    # Confirmed records that became part of the reserve, and records that no writer leaves in one.
    b, p = parts_of("damage reserve")
    case("last_two_zeroed", "the last two confirmed records are zeros, as is what follows", b, [*p[:3], bytes(432), RESERVE])
    case("all_zeroed", "all records are zeros, as is what follows", b, [p[0], bytes(864), RESERVE])
    case("last_flags_zeroed", "the flags of the last confirmed record are zero", b, [*p[:4], flip(p[4], 4, ONE), RESERVE])
    case("replayed_in_reserve", "an earlier record stands deep in the reserve", b, [*p, RESERVE, p[1], RESERVE])
    mark = b.mark()
    b.put(NEVER, b"never confirmed")
    case("record_in_reserve", "the next record stands deep in the reserve", b, [*p[:5], RESERVE, p[5], RESERVE], mark=mark)
    b = Builder("damage before zeros").put(A, b"a").put(B, b"b").put(C, b"c", ends=bytes(2))
    case("zeroed_middle_tag_with_zeros_no_mark", "a record is zeros; behind it is one that opens and ends in two zeros", b,
         [*b.parts[:2], bytes(216), b.parts[3], RESERVE], mark=None, findings=["mark"])

    b, p = parts_of("damage order")
    for title, comment, parts in (
            ("swapped", "two records are swapped", [p[0], p[1], p[3], p[2], p[4]]),
            ("first_two_swapped", "the first two records are swapped", [p[0], p[2], p[1], p[3], p[4]]),
            ("last_two_swapped", "the last two records are swapped", [p[0], p[1], p[2], p[4], p[3]]),
            ("dropped_first", "the first record is gone", [p[0], *p[2:]]),
            ("dropped_middle", "a record is gone", [*p[:2], *p[3:]]),
            ("duplicated", "a record comes twice in a row", [*p[:3], p[2], *p[3:]]),
            ("replaced_by_older", "a record is replaced by an earlier one", [*p[:3], p[1], p[4]]),
            ("zeroed_middle", "a record is zeros", [*p[:2], bytes(216), *p[3:]]),
            ("byte_inserted", "a byte is inserted between two records", [*p[:2], b"\0", *p[2:]]),
            ("byte_removed", "a byte is gone from a record", [*p[:2], p[2][:100] + p[2][101:], *p[3:]])):
        case(title, comment, b, parts)
        case(title + "_no_mark", comment + "; no mark, but a later record opens", b, parts, mark=None,
             findings=["mark"])
    case("replayed_at_end", "an earlier record is put after the end once more", b, [*p, p[1]])
    case("last_repeated_at_end", "the last record is put after the end once more", b, [*p, p[4]])
    case("replayed_at_end_shifted", "an earlier record stands after the end behind some garbage", b, [*p, b"???", p[1]])
    case("journal_cut_between_records", "the last record is gone", b, p[:4])
    case("journal_cut_inside_record", "the last confirmed record is cut", b, [*p[:4], p[4][:100]])
    case("journal_cut_to_head", "every record is gone", b, p[:1])
    case("last_zeroed", "the last confirmed record is zeros", b, [*p[:4], bytes(216)])
    case("last_zeroed_then_more_zeros", "the last confirmed record is zeros, as is what follows", b, [*p[:4], bytes(4096)])

    other = four("damage order")
    other.new_journal()
    for name, value in TEMPLATE:
        other.put(name, value)
    q = other.parts
    case("from_another_journal", "a record is taken from another journal of the same store", b, [*p[:3], q[3], p[4]])
    write("damage_foreign_record_at_end", "a record of another journal after the end does not open here: an unfinished end",
          b.files(journal=b"".join([*p, q[1]])), b, items=FOUR, findings=["tail"])

    b = four("damage lost change").change(Put(A, b"1"), Put(B, b"2"), Put(C, b"3"))
    case("confirmed_change_cut", "a confirmed change has lost its last record", b, b.parts[:-1])
    b = Builder("damage newer overwritten").put(A, b"old").put(B, b"b").put(A, b"new")
    case("last_cut_older_exists", "the newest value is cut off: the older one must not be given", b,
         [*b.parts[:3], b.parts[3][:-1]], reads=[(A, "corrupt"), (B, "corrupt"), (NEVER, "corrupt")])
    b = Builder("damage two broken").put(A, b"a").put(B, b"b").change(Put(C, b"1"), Put(D, b"2"))
    case("change_after_break", "the break is followed by the start of another change", b,
         [*b.parts[:2], b.parts[2][:60] + bytes(156), *b.parts[3:]], mark=b.mark(1),
         reads=[(A, "corrupt"), (B, "corrupt"), (C, "corrupt"), (NEVER, "corrupt")])


def marks(write):
    b = four("mark")
    files = b.files()
    good = b.mark()
    says_nothing = dict(builder=b, items=FOUR, findings=["mark"])
    write("mark_missing", "no mark", b.files(mark=None), **says_nothing)
    write("mark_empty", "an empty mark", b.files(mark=b""), **says_nothing)
    write("mark_short", "a mark cut short", b.files(mark=good[:63]), **says_nothing)
    write("mark_long", "a mark with a byte too many", b.files(mark=good + b"\0"), **says_nothing)
    write("mark_hash_flip", "a mark whose own hash is wrong", b.files(mark=b.mark(spoiled=True)), **says_nothing)
    write("mark_length_flip", "a mark whose length was changed without the key", b.files(mark=flip(good, 18)), **says_nothing)
    write("mark_other_journal", "a good mark of a journal that this one did not take the place of",
          b.files(mark=b.mark(journal_id=bytes(16))), b, expect="corrupt", findings=["journal", "mark"], reads=ALL_CORRUPT)
    write("mark_zeros", "a mark of zeros", b.files(mark=bytes(64)), **says_nothing)
    write("mark_old", "an old mark is good", b.files(mark=b.mark(2)), b, items=FOUR)
    write("mark_at_head", "the mark of the empty journal is good, only old", b.files(mark=b.mark(0)), b, items=FOUR)

    bad = dict(builder=b, expect="corrupt", findings=["journal"], reads=ALL_CORRUPT)
    write("mark_ahead_one_byte", "the mark is one byte ahead of the journal",
          b.files(mark=b.mark(length=len(files["journal"]) + 1)), **bad)
    write("mark_ahead_one_record", "the mark is one record ahead: a confirmed record is lost",
          b.files(journal=b"".join(b.parts[:4])), **bad)
    write("mark_ahead_far", "the mark names the largest length there is", b.files(mark=b.mark(length=2 ** 64 - 1)), **bad)
    write("mark_number_differs", "the mark's number is not the record's", b.files(mark=b.mark(number=3)), **bad)
    write("mark_chain_differs", "the mark's chain value is not the record's", b.files(mark=b.mark(chain=bytes(16))), **bad)
    write("mark_old_chain_differs", "an old mark whose chain value is not the record's",
          b.files(mark=b.mark(2, chain=bytes(16))), **bad)
    write("mark_inside_record", "the mark's length falls within a record", b.files(mark=b.mark(2, length=300)), **bad)
    write("mark_inside_head", "the mark's length falls within the journal's head", b.files(mark=b.mark(0, length=10)), **bad)
    write("mark_head_number", "the mark of the empty journal with a number", b.files(mark=b.mark(0, number=1)), **bad)
    c = four("mark and reserve")
    size, c_bad = len(c.journal()), dict(bad, builder=c)
    for title, comment, length in (("inside_reserve", "within the reserve", size + 100),
                                   ("at_reserve_end", "at the end of the reserve", size + len(RESERVE)),
                                   ("ahead_of_reserve", "behind the end of the reserve", size + len(RESERVE) + 1)):
        write("mark_" + title, f"the mark's length is {comment}",
              c.files(journal=c.journal() + RESERVE, mark=c.mark(length=length)), **c_bad)
    fork = four("mark")
    fork.new_journal()
    fork.journal_id = b.journal_id
    fork.parts, fork.ends, fork.number, fork.chain = b.parts[:4], b.ends[:3], 3, b.ends[2][2]
    fork.put(D, b"another value!")
    write("mark_of_a_fork", "the journal was put back and written on: its last record is not the confirmed one",
          b.files(journal=fork.journal()), **bad)
    c = Builder("mark inside change").put(A, b"a").change(Put(B, b"b"), Put(C, b"c"))
    write("mark_inside_change", "the mark stands within a change", c.files(mark=c.mark(2)), c, expect="corrupt",
          findings=["journal"], reads=[(A, "corrupt"), (B, "corrupt"), (NEVER, "corrupt")])


def main():
    directory = sys.argv[1] if len(sys.argv) == 2 else sys.exit(__doc__)
    os.makedirs(directory, exist_ok=True)
    for old in os.listdir(directory):
        if old.endswith(".txt"):
            os.remove(os.path.join(directory, old))
    write = Writer(directory)
    for group in (contents, slots, headers, rotations, journals, irregular, reserves, tails, damages, marks):
        group(write)
    print(f"{write.count} vectors")


if __name__ == "__main__":
    main()
