"""Reader for the sealed file store, format 1.

Written from the format's specification alone, without looking at the Swift library, so that a
disagreement between the two shows a mistake in one of them or a gap in the specification.
It only reads: it creates, truncates, renews and repairs nothing, and takes no lock. It counts the
changes behind the mark itself, like any reader that cannot write.

Where the specification leaves room, this reader takes the strict reading. Above all: in a
damaged journal it never reports an item as absent and never returns a superseded value.
"""

import base64
import errno
import hashlib
import hmac
import itertools
import os
import re
import stat
import struct
import unicodedata
from typing import Callable, NamedTuple, Optional

from nacl import bindings
from nacl.exceptions import CryptoError
from nacl.public import PrivateKey, SealedBox

HEADER_MAGIC, JOURNAL_MAGIC, VERSION = b"SSNTOOLS", b"SSNTJRN1", 1
SLOT_RAW, SLOT_PASSPHRASE, SLOT_NAMED = 1, 2, 3
REMOVED, FIRST, LAST = 1, 2, 4
SEALED_KEY = 24 + 32 + 16         # nonce, key and AEAD tag
JOURNAL_HEAD, PREFIX, BOUND, AEAD_TAG = 88, 72, 32, 16
MAX_VALUE, MAX_PART, MAX_BEHIND = 16 << 20, 4096, (1 << 30) + (32 << 10)
MAX_NAME = 16448
# The start of every record: a length of 16 more than a multiple of 64, and a length below 32 MiB.
START = re.compile(rb"(?s)(?=[\x10\x50\x90\xd0].\0\0...[\0\1])")


class StoreError(Exception):
    """Base of all results other than a value; `kind` is the name used in JSON and in vectors."""
    kind = "error"


class WrongKey(StoreError): kind = "wrong_key"
class Corrupt(StoreError): kind = "corrupt"
class UnsupportedVersion(StoreError): kind = "unsupported_version"
class RefusedParameters(StoreError): kind = "refused_parameters"
class RefusedFile(StoreError): kind = "refused_file"
class NotFound(StoreError): kind = "not_found"


class Damaged(Exception):
    """A header file is unusable, but the other copy may still be usable (internal)."""


# --- primitives -------------------------------------------------------------------------------

def keyed_hash(size: int, key: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def derive(key: bytes, number: int) -> bytes:
    """Derives a key as libsodium's crypto_kdf: BLAKE2b of no data, with the number as salt and the
    context as person."""
    return hashlib.blake2b(b"", digest_size=32, key=key, salt=struct.pack("<QQ", number, 0),
                           person=b"SSNTOOLS" + bytes(8)).digest()


def sip(key: bytes, data: bytes) -> bytes:
    return bindings.crypto_shorthash_siphashx24(data, key)


def unseal(key: bytes, nonce: bytes, bound: bytes, sealed: bytes) -> Optional[bytes]:
    """Returns the plaintext, or None if it does not open."""
    try:
        return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, bound, nonce, key)
    except CryptoError:
        return None


def padme(length: int) -> int:
    exponent = length.bit_length() - 1
    step = 1 << (exponent - exponent.bit_length())   # ⌊log₂ E⌋ + 1 is the bit length of E
    return -(-length // step) * step


MAX_VALUE_PLAIN = padme(4 + MAX_VALUE)


def possible_lengths(name: int, value: int) -> bool:
    """Returns whether any name and any value have these sealed lengths."""
    name, value = name - AEAD_TAG, value - AEAD_TAG
    return (64 <= name <= MAX_NAME and name % 64 == 0
            and 64 <= value <= MAX_VALUE_PLAIN and padme(value) == value)


# --- item names -------------------------------------------------------------------------------

class Name(NamedTuple):
    service: str
    group: Optional[str]
    install: Optional[str]
    identifier: str

    def canonical(self) -> bytes:
        out = b""
        for part in self:
            raw = None if part is None else part.encode()
            out += b"\0" if raw is None else b"\1" + struct.pack("<I", len(raw)) + raw
        return out

    @classmethod
    def parse(cls, data: bytes) -> "Name":
        """Parses exactly one name, padded with zeros to the length in the rule; anything else is
        Corrupt."""
        parts, at = [], 0
        for _ in range(4):
            presence = data[at:at + 1]
            at += 1
            if presence == b"\0":
                parts.append(None)
                continue
            if presence != b"\1" or at + 4 > len(data):
                raise Corrupt("canonical name: presence byte or length")
            size = struct.unpack_from("<I", data, at)[0]
            at += 4
            if not 1 <= size <= MAX_PART or at + size > len(data):
                raise Corrupt("canonical name: a part is empty or too long")
            try:
                parts.append(data[at:at + size].decode())
            except UnicodeDecodeError:
                raise Corrupt("canonical name: not UTF-8") from None
            at += size
        if parts[0] is None or parts[3] is None:
            raise Corrupt("canonical name: service or item identifier is missing")
        if len(data) != -(-at // 64) * 64 or any(data[at:]):
            raise Corrupt("name: bytes other than zeros, or too many, after the canonical name")
        return cls(*parts)


class Item(NamedTuple):
    name: Name
    value: bytes
    time: Optional[int] = None   # in milliseconds since 1970


# --- header -----------------------------------------------------------------------------------

class Slot(NamedTuple):
    kind: int
    parameters: bytes
    commitment: bytes
    wrapped: bytes

    def fields(self) -> bytes:
        return struct.pack("<HH", self.kind, len(self.parameters)) + self.parameters

    def describe(self) -> dict:
        if self.kind == SLOT_RAW:
            return {"kind": "raw", "label": self.parameters.decode()}
        if self.kind == SLOT_PASSPHRASE:
            passes, memory = struct.unpack_from("<II", self.parameters)
            return {"kind": "passphrase", "passes": passes, "memory_kib": memory}
        if self.kind == SLOT_NAMED:
            return {"kind": "named", "reference": self.parameters.decode()}
        return {"kind": "unknown", "number": self.kind}


class Header:
    """The header, parsed and with its checksum verified; nothing in it is trusted before `open`."""

    def __init__(self, data: bytes):
        # The checksum is verified first and located from the end, so that accidental damage
        # anywhere (even in a version or a length field) counts as damage and the copy is used.
        if len(data) < 80:
            raise Damaged("it is too short")
        body = data[:-48]
        if hashlib.blake2b(body, digest_size=16).digest() != data[-48:-32]:
            raise Damaged("the checksum is wrong")
        if body[:8] != HEADER_MAGIC or len(body) < 32 + SEALED_KEY:
            raise Corrupt("header: wrong magic, or too short")
        version, count, zero, self.store_id = struct.unpack_from("<HHI16s", body, 8)
        if version != VERSION:
            raise UnsupportedVersion(f"header: format version {version}")
        if zero or not 1 <= count <= 16:
            raise Corrupt("header: slot count or zero field")
        self.data, self.bound = data, body[:10] + self.store_id
        self.slots, at = [], 32
        for _ in range(count):
            kind, size = struct.unpack_from("<HH", data, at)
            at += 4 + size + 16 + SEALED_KEY
            if at + SEALED_KEY > len(body):
                raise Corrupt("header: slots run past the end")
            wrapped, commitment = at - SEALED_KEY, at - SEALED_KEY - 16
            slot = Slot(
                kind, body[commitment - size:commitment], body[commitment:wrapped],
                body[wrapped:at])
            if kind == SLOT_PASSPHRASE and size != 24:
                raise Corrupt("header: a passphrase slot's parameters are not 24 bytes")
            if kind in (SLOT_RAW, SLOT_NAMED):
                try:
                    slot.parameters.decode()
                except UnicodeDecodeError:
                    raise Corrupt("header: a slot's label or reference is not UTF-8") from None
            if kind == SLOT_NAMED and not size:
                raise Corrupt("header: a named-key slot without a reference")
            self.slots.append(slot)
        if at + SEALED_KEY != len(body):
            raise Corrupt("header: its length does not fit its slots")
        self.wrapped_data_key = body[at:]

    def open(self, credentials: "Credentials") -> "Keys":
        refused, spent = None, 0
        for slot in self.slots:
            try:
                wrapping, cost = credentials.key_for(slot, spent)
            except RefusedParameters as refusal:
                refused = refusal        # another slot may still open
                continue
            spent += cost
            if wrapping is None:
                continue
            commitment = keyed_hash(16, wrapping, b"SSNTOOLS slot" + self.store_id + slot.fields())
            if not hmac.compare_digest(commitment, slot.commitment):
                continue
            store_key = self._unwrap(wrapping, slot.fields() + slot.commitment, slot.wrapped)
            if store_key is None:
                raise Corrupt("header: a slot for this key does not open")
            mac = keyed_hash(32, derive(store_key, 1), self.data[:-32])
            if not hmac.compare_digest(mac, self.data[-32:]):
                raise Corrupt("header: authentication failed although a slot opened")
            data_key = self._unwrap(store_key, b"data", self.wrapped_data_key)
            if data_key is None:
                raise Corrupt("header: the data key does not open")
            return Keys(data_key, fingerprint(store_key, self.store_id))
        raise refused or WrongKey("no key slot opens")

    def _unwrap(self, key: bytes, purpose: bytes, wrapped: bytes) -> Optional[bytes]:
        return unseal(key, wrapped[:24], self.bound + purpose, wrapped[24:])


def fingerprint(store_key: bytes, store_id: bytes) -> str:
    value = keyed_hash(16, derive(store_key, 7), store_id)
    check = hashlib.blake2b(value, digest_size=16).digest()[:4]
    return "st-store-" + base64.urlsafe_b64encode(value + check).rstrip(b"=").decode()


def reference_bytes(reference: str, scheme: str) -> Optional[bytes]:
    """Returns the bytes in a reference, or None if it has another scheme or is not their one
    encoding."""
    start, colon, text = reference.partition(":")
    if start != scheme or not colon:
        return None
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except ValueError:
        return None
    return data if base64.urlsafe_b64encode(data).rstrip(b"=").decode() == text else None


def is_label(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return len(data) <= 64


def recipient_slot_key(reference: str, secret: bytes) -> Optional[bytes]:
    data = reference_bytes(reference, "x25519")
    if data is None or len(data) < 113 or data[0] != 1 or not is_label(data[113:]):
        return None
    private = PrivateKey(secret)
    if bytes(private.public_key) != data[1:33]:
        return None
    try:
        return SealedBox(private).decrypt(data[33:113])
    except CryptoError:
        return None


def security_key_slot_key(reference: str, output: bytes) -> Optional[bytes]:
    """`output` is what the security key answers for the slot's credential and salt."""
    data = reference_bytes(reference, "fido2")
    if data is None or len(data) < 36 or data[0] != 1 or data[1] > 1:
        return None
    end = 36 + struct.unpack_from("<H", data, 34)[0]
    if not 37 <= end <= 36 + 1023 or end > len(data) or not is_label(data[end:]):
        return None
    return keyed_hash(32, output, b"SSNTFID2" + data[:end])


def portal_slot_key(reference: str, secret: bytes) -> Optional[bytes]:
    """`secret` is what the desktop's portal keeps for the app."""
    data = reference_bytes(reference, "portal")
    if data is None or len(data) != 33 or data[0] != 1:
        return None
    return keyed_hash(32, hashlib.blake2b(secret, digest_size=32).digest(), b"SSNTPORT" + data)


class Credentials:
    def __init__(self, raw_key=None, passphrase=None, named=None, recipient_key=None,
                 security_key=None, app_secret=None, max_passes=10, max_memory_kib=1 << 20,
                 max_total_kib=40 << 20):
        self.raw_key, self.passphrase, self.named = raw_key, passphrase, named or {}
        self.recipient_key, self.security_key = recipient_key, security_key
        self.app_secret = app_secret
        self.max_passes, self.max_memory_kib, self.max_total_kib = (
            max_passes, max_memory_kib, max_total_kib)
        for key in [raw_key, recipient_key, security_key, *self.named.values()]:
            if key is not None and len(key) != 32:
                raise WrongKey("a key must be exactly 32 bytes")

    def key_for(self, slot: Slot, spent: int) -> tuple:
        """Returns the wrapping key, or None, and its cost: passes times memory, in KiB.

        `spent` is the cost of the earlier slots.
        """
        if slot.kind == SLOT_RAW:
            return self.raw_key, 0
        if slot.kind == SLOT_NAMED:
            return self.named_key(slot.parameters.decode()), 0
        if slot.kind != SLOT_PASSPHRASE or self.passphrase is None:
            return None, 0
        passes, memory, salt = struct.unpack("<II16s", slot.parameters)
        # Anyone who can write the file can choose these numbers, so they are checked before any
        # cost.
        if (not 1 <= passes <= self.max_passes or not 8 << 10 <= memory <= self.max_memory_kib
                or spent + passes * memory > self.max_total_kib):
            raise RefusedParameters(f"passphrase slot asks for {passes} passes over {memory} KiB")
        secret = unicodedata.normalize("NFC", self.passphrase).encode()
        return bindings.crypto_pwhash_alg(32, secret, salt, passes, memory * 1024,
                                          bindings.crypto_pwhash_ALG_ARGON2ID13), passes * memory

    def named_key(self, reference: str) -> Optional[bytes]:
        if self.recipient_key is not None:
            return recipient_slot_key(reference, self.recipient_key)
        if self.security_key is not None:
            return security_key_slot_key(reference, self.security_key)
        if self.app_secret is not None:
            return portal_slot_key(reference, self.app_secret)
        return self.named.get(reference)


class Keys:
    def __init__(self, data_key: bytes, fingerprint: str):
        self.fingerprint = fingerprint
        self.value, self.name = derive(data_key, 3), derive(data_key, 5)
        self.tags, self.chain, self.mask = (derive(data_key, number)[:16] for number in (2, 4, 6))

    def tag(self, canonical_name: bytes) -> bytes:
        return sip(self.tags, canonical_name)[:15]

    def fits(self, journal: Optional[bytes]) -> bool:
        return (journal is not None and len(journal) >= JOURNAL_HEAD
                and sip(self.chain, journal[:72]) == journal[72:JOURNAL_HEAD])


# --- files ------------------------------------------------------------------------------------

def _vet(status, path: str, directory: bool) -> None:
    kind, mode = ("directory", "700") if directory else ("regular file", "600")
    if not (stat.S_ISDIR if directory else stat.S_ISREG)(status.st_mode):
        raise RefusedFile(f"{path} is not a {kind}: mv {path} {path}.aside")
    if status.st_uid != os.geteuid():
        raise RefusedFile(f"{path} has another owner: chown {os.geteuid()} {path}")
    if status.st_mode & 0o077:
        raise RefusedFile(f"{path} is open to others: chmod {mode} {path}")
    if not directory and status.st_nlink != 1:
        raise RefusedFile(
            f"{path} has more than one link: cp {path} {path}.new && mv {path}.new {path}")


def _load(directory: str, name: str) -> Optional[bytes]:
    path = os.path.join(directory, name)
    try:
        # With O_NONBLOCK, a pipe in the file's place cannot hang the reader.
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as problem:
        if problem.errno == errno.ENOENT:
            return None
        if problem.errno in (errno.ELOOP, errno.ENXIO):
            raise RefusedFile(f"{path} is not a regular file: mv {path} {path}.aside") from None
        raise
    with os.fdopen(descriptor, "rb") as file:
        _vet(os.fstat(file.fileno()), path, directory=False)
        return file.read()


# --- the journal ------------------------------------------------------------------------------

class Record(NamedTuple):
    offset: int
    kind: int
    number: int
    tag: bytes
    nonce: bytes
    chain: bytes
    bound: bytes      # the 32 bytes that both sealings and the chain cover
    name: bytes
    value: bytes

    @property
    def end(self) -> int:
        return self.offset + PREFIX + len(self.name) + len(self.value)


class Mark(NamedTuple):
    length: int
    version: int
    chain: bytes


class Journal:
    """The walk over one journal file, to its mark and over the bytes behind the mark.

    fault         set if every read and every list must fail
    hit           set (of tags) if only chain values were damaged: other items may still be read
    newest        by tag, the newest record that counts; of a damaged journal, in front of the break
    mark_finding  the problem of the mark, if any
    tail          a description of bytes behind the mark other than zeros, if they are not damage
    """

    def __init__(self, data: Optional[bytes], mark: Optional[bytes], keys: Keys, store_id: bytes):
        self.data, self.keys = data, keys
        self.fault, self.hit, self.mark_finding, self.tail = None, None, None, None
        # Whole changes, the records of an unfinished one, and the newest records.
        self.changes, self.change, self.newest = [], [], {}
        try:
            self._read_head(store_id)
            self._read_to_mark(mark)
        except Corrupt as fault:
            self.fault = fault

    @property
    def damaged(self) -> Optional[Corrupt]:
        return self.fault or (
            None if self.hit is None else Corrupt("journal: chain values are damaged"))

    @property
    def records(self) -> list:
        return [record for change in self.changes for record in change] + self.change

    def _read_head(self, store_id: bytes) -> None:
        if not self.keys.fits(self.data):
            what = ("is missing" if self.data is None
                    else "does not start with a head under this store's keys")
            raise Corrupt("journal: it " + what)
        magic, version, zero, owner, self.id, self.first_version, self.predecessor, self.chain = (
            struct.unpack_from("<8sH6s16s16sQ16s16s", self.data))
        if magic == JOURNAL_MAGIC and version != VERSION:
            raise UnsupportedVersion(f"journal: format version {version}")
        if magic != JOURNAL_MAGIC or any(zero) or owner != store_id:
            raise Corrupt("journal: magic, zero field or store identifier")
        self.has_predecessor = any(self.predecessor)
        self.offset, self.number = JOURNAL_HEAD, 0

    def _read_to_mark(self, data: Optional[bytes]) -> None:
        if data is not None and hashlib.blake2b(data, digest_size=16).digest() == self.predecessor:
            self._walk(until=lambda: self.changes)
            if not self.changes:
                raise Corrupt("journal: its first change is not whole, but it has no mark yet")
            self._recover()
            self.mark_finding = "it belongs to the previous journal: this journal has no mark yet"
            return
        if data is None:
            self.mark_finding = "it is missing"
        elif sip(self.keys.chain, data[:48]) != data[48:]:      # also if the length is wrong
            self.mark_finding = "it is damaged"
        elif data[:16] != self.id:
            self.mark_finding = "it belongs to another journal"
        if self.mark_finding:
            raise Corrupt("mark: " + self.mark_finding)
        mark = Mark(*struct.unpack_from("<QQ16s", data, 16))
        self._walk(until=lambda: self.offset >= mark.length)
        if self._meets(mark):
            self._recover()
        else:
            self._take_stock(mark)

    def time(self, record: Record) -> Optional[int]:
        """Returns when the record's item was put, or None if its nonce has no time."""
        mask = sip(self.keys.mask, record.nonce[:12])
        hidden = bytes(x ^ y for x, y in zip(record.nonce[12:], mask))
        return None if any(hidden[6:]) else int.from_bytes(hidden[:6], "little")

    # The steps of the walk. `offset`, `number` and `chain` are those behind the last record taken.

    def _record_at(self, offset: int) -> Optional[Record]:
        """Returns the record here if it is complete and has possible lengths; checks no more."""
        if offset + PREFIX > len(self.data):
            return None
        a, b, number, masked, nonce, chain = struct.unpack_from("<IIQ16s24s16s", self.data, offset)
        name = offset + PREFIX
        value, end = name + a, name + a + b
        if not possible_lengths(a, b) or end > len(self.data):
            return None
        kind, *tag = (x ^ y for x, y in zip(masked, sip(self.keys.mask, nonce)))
        return Record(offset, kind, number, bytes(tag), nonce, chain,
                      self.data[offset:offset + BOUND], self.data[name:value], self.data[value:end])

    def _due(self) -> Optional[Record]:
        """Returns the record here if it may follow the last one; does not check its chain value."""
        record = self._record_at(self.offset)
        if record and (record.kind > 7 or record.number != self.number + 1
                       or bool(record.kind & FIRST) == bool(self.change)):
            return None
        return record

    def _link(self, record: Record) -> bytes:
        return sip(self.keys.chain, self.chain + record.bound + record.nonce
                   + record.name[-AEAD_TAG:] + record.value[-AEAD_TAG:])

    def _take(self, record: Record) -> None:
        self.offset, self.number, self.chain = record.end, record.number, self._link(record)
        self.change.append(record)
        if record.kind & LAST:
            self.changes.append(self.change)
            self.change = []

    def _walk(self, until: Callable) -> None:
        while not until() and (record := self._due()) and self._link(record) == record.chain:
            self._take(record)

    # The results of the walk.

    def _meets(self, mark: Mark) -> bool:
        # The first change after a predecessor puts the items that were there before.
        uncounted = 1 if self.has_predecessor else 0
        version = self.first_version + len(self.changes) - uncounted
        return (not self.change and len(self.changes) >= uncounted
                and mark == (self.offset, version, self.chain))

    def _recover(self) -> None:
        """Counts whole changes behind the mark; ignores an unfinished one unless it is damage."""
        mark, counted = self.offset, len(self.changes)
        self._walk(until=lambda: False)
        walked = {r.offset for r in [*itertools.chain(*self.changes[counted:]), *self.change]}
        self.change = []
        # Each change was synced before the next was written, so only the last can be torn.
        if len(self.changes) > counted and not all(map(self._opens, self.changes[-1])):
            self.changes.pop()
        end = self.changes[-1][-1].end if self.changes else JOURNAL_HEAD
        # A record may end in zeros, so this is not the end of a record.
        rest = max(end, len(self.data.rstrip(b"\0")))
        if len(self.data) - end > MAX_BEHIND:
            raise Corrupt(f"journal: more bytes behind {end} than a change can have")
        for found in START.finditer(self.data, end):
            record = None if found.start() in walked else self._record_at(found.start())
            if record and record.kind & FIRST and record.kind <= 7 and self._opens(record):
                raise Corrupt(
                    f"journal: the record at {record.offset} opens, but no record can be there")
        self.newest = {record.tag: record for record in self.records}
        if rest > mark:
            self.tail = (
                f"{end - mark} bytes behind the mark count, {rest - end} are an unfinished write")

    def _take_stock(self, mark: Mark) -> None:
        """Handles damage in front of the mark.

        Single reads stay possible if every byte from the break to the mark belongs to a record that
        opens: the chain is computed again and must match the mark.
        """
        self.newest = {record.tag: record for record in self.records}
        broken, hit = self.offset, set()
        while self.offset < mark.length:
            record = self._due()
            if not record or not self._opens(record):
                raise Corrupt(f"journal: broken at {broken}, and the rest is not whole")
            hit.add(record.tag)
            self._take(record)
        if not self._meets(mark) or any(self.data[self.offset:]):
            raise Corrupt(f"journal: it disagrees with its mark, from {broken}")
        self.hit = hit

    # Plaintexts.

    def _unseal(self, key: bytes, record: Record, sealed: bytes) -> bytes:
        plain = unseal(key, record.nonce, self.id + record.bound, sealed)
        if plain is None:
            raise Corrupt(f"journal: record {record.number} does not open")
        return plain

    def _opens(self, record: Record) -> bool:
        try:
            self._unseal(self.keys.name, record, record.name)
            self._unseal(self.keys.value, record, record.value)
            return True
        except Corrupt:
            return False

    def name(self, record: Record) -> Optional[Name]:
        """Opens the name of a record; returns None for a void removal."""
        plain = self._unseal(self.keys.name, record, record.name)
        name = None if record.kind & REMOVED and plain == bytes(64) else Name.parse(plain)
        if self.keys.tag(name.canonical() if name else b"") != record.tag:
            raise Corrupt(f"journal: record {record.number} has a name that does not match its tag")
        return name

    def value(self, record: Record) -> bytes:
        plain = self._unseal(self.keys.value, record, record.value)
        end = 4 + struct.unpack_from("<I", plain)[0]
        if end > 4 + MAX_VALUE:
            raise Corrupt(f"journal: record {record.number} has a value that is too long")
        if any(plain[end:]):
            raise Corrupt(f"journal: record {record.number} has padding other than zeros")
        if record.kind & REMOVED:
            if end != 4:
                raise Corrupt(f"journal: record {record.number} removes an item but has a value")
        elif len(plain) != padme(max(64, end)):
            raise Corrupt(f"journal: record {record.number} does not have the length of its value")
        return plain[4:end]


# --- the store --------------------------------------------------------------------------------

class Store:
    def __init__(self, directory: str, **credentials):
        """Opens a store for reading; see Credentials for the keywords.

        Damage of the journal is raised by reads and lists, not here, so that `check` can report it.
        """
        directory = os.fspath(directory)
        credentials = Credentials(**credentials)
        try:
            _vet(os.lstat(directory), directory, directory=True)
        except FileNotFoundError:
            raise NotFound("there is no such directory") from None
        self.findings = []
        main, copy, following = (
            _load(directory, name) for name in ("header", "header.copy", "header.next"))
        mark, journal = self._load_state(directory)
        # A journal is created before its header, so a journal with only a head never was a store.
        if main is copy is None and len(journal or b"") <= JOURNAL_HEAD:
            raise NotFound("the directory holds no store")
        header = self._choose_header(main, copy)
        keys = header.open(credentials)
        if following is not None:
            self.findings.append(("rotation", "a rotation was not finished: header.next exists"))
            if not keys.fits(journal):
                header, keys = self._follow(header, keys, following, journal, credentials)
        self.slots = [slot.describe() for slot in header.slots]
        self.fingerprint = keys.fingerprint
        self.journal = Journal(journal, mark, keys, header.store_id)
        for _ in range(3):
            again = self._load_state(directory)
            if not self.journal.damaged or again == (mark, journal):
                break
            mark, journal = again              # a writer was at work
            self.journal = Journal(journal, mark, keys, header.store_id)

    @staticmethod
    def _load_state(directory: str) -> tuple:
        """Reads the mark first: in the other order, a write in between would look like a loss."""
        return _load(directory, "mark"), _load(directory, "journal")

    def _choose_header(self, main: Optional[bytes], copy: Optional[bytes]) -> Header:
        try:
            header = Header(main or b"")
        except Damaged as damage:
            why = "it is missing" if main is None else str(damage)
            try:
                header = Header(copy or b"")
            except Damaged:
                raise Corrupt("header: neither it nor its copy is usable") from None
            self.findings.append(("header", f"the copy was used instead: {why}"))
        else:
            if copy != main:
                why = "it is missing" if copy is None else "it differs from the header"
                self.findings.append(("header copy", why))
        return header

    @staticmethod
    def _follow(header, keys, following, journal, credentials):
        """Uses header.next if an interrupted rotation has already put its journal in place."""
        try:
            candidate = Header(following)
        except Damaged:
            return header, keys
        if candidate.store_id != header.store_id:
            return header, keys
        new_keys = candidate.open(credentials)
        return (candidate, new_keys) if new_keys.fits(journal) else (header, keys)

    def items(self) -> list:
        """Returns all items, sorted by canonical name.

        Fails for any damaged store, because the list could be incomplete.
        """
        journal = self.journal
        if journal.damaged:
            raise journal.damaged
        # A removal is not opened: the chain value, a MAC, binds its tag and its kind.
        kept = (record for record in journal.newest.values() if not record.kind & REMOVED)
        return sorted((Item(journal.name(record), journal.value(record), journal.time(record))
                       for record in kept),
                      key=lambda item: item.name.canonical())

    def read(self, service: str, identifier: str, group: Optional[str] = None,
             install: Optional[str] = None) -> bytes:
        journal = self.journal
        if journal.fault:
            raise journal.fault
        tag = journal.keys.tag(Name(service, group, install, identifier).canonical())
        record = journal.newest.get(tag)
        absent = record is None or record.kind & REMOVED
        if journal.hit is not None and (absent or tag in journal.hit):
            raise Corrupt("journal: damaged, so the state of this item is uncertain")
        if absent:
            raise NotFound("no such item")
        return journal.value(record)

    def check(self) -> list:
        """Returns findings as (kind, text): header, header copy, rotation, mark, journal, tail."""
        found, journal = list(self.findings), self.journal
        if journal.mark_finding:
            found.append(("mark", journal.mark_finding))
        elif journal.damaged:
            found.append(("journal", str(journal.damaged)))
        for record in journal.records:          # superseded records too: nothing else opens them
            try:
                journal.name(record)
                journal.value(record)
            except Corrupt as problem:
                found.append(("journal", str(problem)))
        if journal.tail:
            found.append(("tail", journal.tail))
        return found
