"""Reader for the sealed file store, format 1.

Written from the format's specification alone, without sight of the Swift library, so that a
disagreement between the two shows a mistake in one of them or a gap in the specification.
It reads only: nothing is created, cut off, renewed or repaired, and no lock is taken.

Where the specification leaves room this reader takes the strict reading. Above all: in a
damaged journal no item is ever called absent and no superseded value is ever handed out.
"""

import errno
import hashlib
import hmac
import os
import re
import stat
import struct
import unicodedata
from typing import NamedTuple, Optional

from nacl import bindings
from nacl.exceptions import CryptoError

HEADER_MAGIC, JOURNAL_MAGIC, VERSION = b"SSNTOOLS", b"SSNTJRN1", 1
SLOT_RAW, SLOT_PASSPHRASE, SLOT_NAMED = 1, 2, 3
REMOVED, FIRST, LAST = 1, 2, 4
WRAPPED = 24 + 48                 # nonce, then a 32-byte key with its AEAD tag
JOURNAL_HEAD, PREFIX, BOUND, OVERHEAD = 64, 48, 32, 24 + 16
START = re.compile(rb"[\2\3\6\7]\0\0\0")   # flags of a record that starts a change, and the zeros behind them
MAX_VALUE, MAX_PART, MAX_BEHIND = 16 << 20, 4096, (1 << 30) + (32 << 10)


class StoreError(Exception):
    """Base of all answers other than a value; `kind` is the name used in JSON and in vectors."""
    kind = "error"


class WrongKey(StoreError): kind = "wrong_key"
class Corrupt(StoreError): kind = "corrupt"
class UnsupportedVersion(StoreError): kind = "unsupported_version"
class RefusedParameters(StoreError): kind = "refused_parameters"
class RefusedFile(StoreError): kind = "refused_file"
class NotFound(StoreError): kind = "not_found"


class Damaged(Exception):
    """A header file that cannot be used, although the other copy still may (internal)."""


# --- primitives -------------------------------------------------------------------------------

def keyed_hash(size: int, key: bytes, data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


def derive(key: bytes, number: int) -> bytes:
    """libsodium's crypto_kdf: BLAKE2b of nothing, the number as salt, the context as person."""
    return hashlib.blake2b(b"", digest_size=32, key=key, salt=struct.pack("<QQ", number, 0),
                           person=b"SSNTOOLS" + bytes(8)).digest()


def sip(key: bytes, data: bytes) -> bytes:
    return bindings.crypto_shorthash_siphashx24(data, key)


def unseal(key: bytes, sealed: bytes, bound: bytes) -> Optional[bytes]:
    """The plaintext of nonce ‖ AEAD, or None when it does not open."""
    try:
        return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed[24:], bound, sealed[:24], key)
    except CryptoError:
        return None


def padme(length: int) -> int:
    exponent = length.bit_length() - 1
    step = 1 << (exponent - exponent.bit_length())   # ⌊log₂ E⌋ + 1 is the bit length of E
    return -(-length // step) * step


MAX_PLAIN = padme(8 + 4 * (5 + MAX_PART) + MAX_VALUE)


def possible_length(n: int) -> bool:
    """Whether some plaintext pads to this sealed length; padding a padded length changes nothing."""
    plain = n - OVERHEAD
    return 128 <= plain <= MAX_PLAIN and padme(plain) == plain


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
        """Exactly one name and nothing after it; anything else is Corrupt."""
        parts, at = [], 0
        for _ in range(4):
            presence = data[at:at + 1]
            at += 1
            if presence == b"\0":
                parts.append(None)
                continue
            if presence != b"\1" or at + 4 > len(data):
                raise Corrupt("canonical key: presence byte or length")
            size = struct.unpack_from("<I", data, at)[0]
            at += 4
            if size > MAX_PART or at + size > len(data):
                raise Corrupt("canonical key: a part is too long")
            try:
                parts.append(data[at:at + size].decode())
            except UnicodeDecodeError:
                raise Corrupt("canonical key: not UTF-8") from None
            at += size
        if at != len(data):
            raise Corrupt("canonical key: bytes after its end")
        if not parts[0] or not parts[3]:
            raise Corrupt("canonical key: service or item identifier is missing or empty")
        return cls(*parts)


class Item(NamedTuple):
    name: Name
    value: bytes


# --- header -----------------------------------------------------------------------------------

class Slot(NamedTuple):
    kind: int
    parameters: bytes
    wrapped: bytes

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
    """The parsed and checksummed header; nothing in it is trusted before `open`."""

    def __init__(self, data: bytes):
        # The checksum comes first and is found from the end, so that accidental damage anywhere
        # (a version or a length field too) reads as damage and leads to the copy.
        if len(data) < 32 + WRAPPED + 48 or data[:8] != HEADER_MAGIC:
            raise Damaged("too short or not a header")
        if hashlib.blake2b(data[:-48], digest_size=16).digest() != data[-48:-32]:
            raise Damaged("the checksum is wrong")
        version, count, zero = struct.unpack_from("<HHI", data, 8)
        if version != VERSION:
            raise UnsupportedVersion(f"header: format version {version}")
        if zero or not 1 <= count <= 16:
            raise Corrupt("header: slot count or zero field")
        self.data, self.store_id = data, data[16:32]
        self.bound = HEADER_MAGIC + struct.pack("<H", VERSION) + self.store_id
        self.slots, at = [], 32
        for _ in range(count):
            if at + 4 > len(data):
                raise Corrupt("header: slots run past the end")
            kind, size = struct.unpack_from("<HH", data, at)
            slot = Slot(kind, data[at + 4:at + 4 + size], data[at + 4 + size:at + 4 + size + WRAPPED])
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
            at += 4 + size + WRAPPED
        if at + WRAPPED + 48 != len(data):
            raise Corrupt("header: its length does not fit its slots")
        self.wrapped_data_key = data[at:at + WRAPPED]

    def open(self, credentials: "Credentials") -> "Keys":
        refused = None
        for slot in self.slots:
            try:
                kek = credentials.key_for(slot)
            except RefusedParameters as refusal:
                refused = refusal        # another slot may still open
                continue
            if kek is None:
                continue
            bound = self.bound + struct.pack("<HH", slot.kind, len(slot.parameters)) + slot.parameters
            store_key = unseal(kek, slot.wrapped, bound)
            if store_key is None:
                continue
            mac = keyed_hash(32, derive(store_key, 1), self.data[:-32])
            if not hmac.compare_digest(mac, self.data[-32:]):
                raise Corrupt("header: authentication failed although a slot opened")
            data_key = unseal(store_key, self.wrapped_data_key, self.bound + b"data")
            if data_key is None:
                raise Corrupt("header: the data key does not open")
            return Keys(data_key)
        raise refused or WrongKey("no key slot opens")


class Credentials:
    def __init__(self, raw_key=None, passphrase=None, named=None, max_passes=10, max_memory_kib=1 << 20):
        self.raw_key, self.passphrase, self.named = raw_key, passphrase, named or {}
        self.max_passes, self.max_memory_kib = max_passes, max_memory_kib
        for key in [raw_key, *self.named.values()]:
            if key is not None and len(key) != 32:
                raise WrongKey("a key must be exactly 32 bytes")

    def key_for(self, slot: Slot) -> Optional[bytes]:
        if slot.kind == SLOT_RAW:
            return self.raw_key
        if slot.kind == SLOT_NAMED:
            return self.named.get(slot.parameters.decode())
        if slot.kind != SLOT_PASSPHRASE or self.passphrase is None:
            return None
        passes, memory, salt = struct.unpack("<II16s", slot.parameters)
        # Anyone who can write the file chose these numbers, so they are judged before any is spent.
        if not 1 <= passes <= self.max_passes or not 8 << 10 <= memory <= self.max_memory_kib:
            raise RefusedParameters(f"passphrase slot asks for {passes} passes over {memory} KiB")
        secret = unicodedata.normalize("NFC", self.passphrase).encode()
        return bindings.crypto_pwhash_alg(32, secret, salt, passes, memory * 1024,
                                          bindings.crypto_pwhash_ALG_ARGON2ID13)


class Keys:
    def __init__(self, data_key: bytes):
        self.name, self.record, self.chain = derive(data_key, 2), derive(data_key, 3), derive(data_key, 4)[:16]

    def tag(self, name: Name) -> bytes:
        return keyed_hash(16, self.name, name.canonical())

    def fits(self, journal: Optional[bytes]) -> bool:
        return (journal is not None and len(journal) >= JOURNAL_HEAD
                and sip(self.chain, journal[:48]) == journal[48:JOURNAL_HEAD])


# --- files ------------------------------------------------------------------------------------

def _vet(status, path: str, directory: bool) -> None:
    if not (stat.S_ISDIR if directory else stat.S_ISREG)(status.st_mode):
        raise RefusedFile(f"{path} is not a {'directory' if directory else 'regular file'}: mv {path} {path}.aside")
    if status.st_uid != os.geteuid():
        raise RefusedFile(f"{path} has another owner: chown {os.geteuid()} {path}")
    if status.st_mode & 0o077:
        raise RefusedFile(f"{path} is open to others: chmod {'700' if directory else '600'} {path}")
    if not directory and status.st_nlink != 1:
        raise RefusedFile(f"{path} has more than one link: cp {path} {path}.new && mv {path}.new {path}")


def _load(directory: str, name: str) -> Optional[bytes]:
    path = os.path.join(directory, name)
    try:
        # O_NONBLOCK so that a pipe put in the file's place cannot hang the reader.
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
    flags: int
    number: int
    tag: bytes
    chain: bytes
    bound: bytes      # the 32 bytes that the AEAD and the chain cover
    sealed: bytes

    @property
    def end(self) -> int:
        return self.offset + PREFIX + len(self.sealed)


class Journal:
    """The walk over one journal file.

    fault    set when every read and every list must fail
    hit      set (of tags) when chain values alone were damaged: reads of other items may answer
    tail     (offset, length) of an unfinished write after the last whole change
    newest   by tag, the newest record among whole changes
    """

    def __init__(self, data: Optional[bytes], mark: Optional[bytes], keys: Keys, store_id: bytes):
        self.keys, self.fault, self.hit, self.tail = keys, None, None, None
        self.newest, self.records, self.mark, self.mark_finding = {}, [], None, None
        if not keys.fits(data):
            what = "is missing" if data is None else "does not start with a journal head under this store's keys"
            self.fault = Corrupt("journal: it " + what)
            return
        magic, version, zero, owner, self.id = struct.unpack_from("<8sH6s16s16s", data)
        if magic == JOURNAL_MAGIC and version != VERSION:
            raise UnsupportedVersion(f"journal: format version {version}")
        if magic != JOURNAL_MAGIC or zero != bytes(6) or owner != store_id:
            self.fault = Corrupt("journal: magic, zero field or store id")
            return
        self.data = data
        try:
            self._judge_mark(mark)
            self._walk()
        except Corrupt as fault:
            self.fault = fault

    def _judge_mark(self, mark: Optional[bytes]) -> None:
        if mark is None:
            self.mark_finding = "it is missing"
        elif len(mark) != 64 or sip(self.keys.chain, mark[:48]) != mark[48:]:
            self.mark_finding = "it is damaged"
        elif mark[:16] != self.id:
            self.mark_finding = "it belongs to another journal"
            # A compaction names its journal after the mark it starts from, so that this mark and
            # an older journal that was put back are not mistaken for one another.
            if sip(self.keys.chain, b"SSNTNEXT" + mark[:48]) != self.id:
                raise Corrupt("journal: another one was confirmed later than this one")
        else:
            self.mark = struct.unpack_from("<QQ16s", mark, 16)

    def _record_at(self, offset: int) -> Optional[Record]:
        """The record whose bytes lie here whole, with a possible length; nothing is verified."""
        if offset + PREFIX > len(self.data):
            return None
        n, flags, _, number, tag, chain = struct.unpack_from("<IB3sQ16s16s", self.data, offset)
        if n < 16 or offset + PREFIX + n > len(self.data):
            return None
        body = offset + PREFIX
        return Record(offset, flags, number, tag, chain, self.data[offset:offset + BOUND], self.data[body:body + n])

    def _next_chain(self, chain: bytes, record: Record) -> bytes:
        return sip(self.keys.chain, chain + record.bound + record.sealed[-16:])

    @staticmethod
    def _irregular(record: Record, number: int, inside: bool) -> Optional[str]:
        """What an honest writer would not have written here, given what came before."""
        if not possible_length(len(record.sealed)):
            return "length"
        if record.flags > 7 or record.bound[5:8] != bytes(3):
            return "flags or zero field"
        if record.number != number:
            return "number"
        if bool(record.flags & FIRST) == inside:
            return "start of a change"
        return None

    def _pass_mark(self, offset: int, end: int, number: int, chain: bytes, last: bool) -> None:
        """Checks the mark against the record it falls in: only a change's end is ever confirmed."""
        if self.mark and offset < self.mark[0] <= end and not (last and self.mark == (end, number, chain)):
            raise Corrupt("journal: it disagrees with its mark")

    def _walk(self) -> None:
        data, offset, number, chain = self.data, JOURNAL_HEAD, 0, self.data[48:JOURNAL_HEAD]
        change, whole = [], JOURNAL_HEAD             # records of the open change; end of the last whole one
        last, start, before = [], whole, (0, chain)  # records of that one; where it starts; what it follows
        self._pass_mark(-1, offset, number, chain, True)
        while offset < len(data):
            record = self._record_at(offset)
            if record is None or self._next_chain(chain, record) != record.chain:
                break
            # The chain holds, so no disk fault explains an irregular record: never an unfinished end.
            problem = self._irregular(record, number + 1, bool(change))
            if problem:
                raise Corrupt(f"journal: record {number + 1} at {offset} is chained but irregular ({problem})")
            number, chain = number + 1, record.chain
            self._pass_mark(offset, record.end, number, chain, bool(record.flags & LAST))
            offset = record.end
            change.append(record)
            self.records.append(record)
            if record.flags & LAST:
                self.newest.update((entry.tag, entry) for entry in last)
                before = (change[0].number - 1, last[-1].chain if last else before[1])
                last, start, change, whole = change, whole, [], offset
        torn = None
        if not self.mark or self.mark[0] < whole:
            torn = next((place for place, entry in enumerate(last) if self._open(entry) is None), None)
        if torn is None:
            self.newest.update((entry.tag, entry) for entry in last)
        else:
            # Never confirmed, and not all of it arrived: the chain covers the ends of a record alone.
            change, whole, offset = last[:torn], start, last[torn].offset
            number, chain = (change[-1].number, change[-1].chain) if change else before
            self.records = [entry for entry in self.records if entry.offset < offset]
        if self.mark and self.mark[0] > len(data):
            raise Corrupt(f"journal: {self.mark[0] - len(data)} confirmed bytes are gone from its end")
        # Zeros at the end are a reserve. A record may end in zeros, so this bounds no record.
        too_long = len(data) - whole > MAX_BEHIND
        end = len(data) if too_long else max(whole, len(data.rstrip(b"\0")))
        if not too_long and (not self.mark or self.mark[0] <= whole):
            if end == whole:
                return
            if not self._more_than_torn(whole, offset):
                self.tail = (whole, end - whole)
                return
        self._take_stock(offset, number, chain, change, end)

    def _open(self, record: Record) -> Optional[bytes]:
        return unseal(self.keys.record, record.sealed, self.id + record.bound)

    def _more_than_torn(self, whole: int, offset: int) -> bool:
        """Whether any record opens at the break, or one that starts a change anywhere behind the last whole one.

        The one at the break counts whatever its flags: a torn write cannot spoil a chain value and leave both
        the bytes around it and the AEAD's tag whole, so that is no unfinished write.
        """
        starts = (found.start() - 4 for found in START.finditer(self.data, whole + 5))
        return any(record and possible_length(len(record.sealed)) and self._open(record) is not None
                   for record in map(self._record_at, [offset, *starts]))

    def _take_stock(self, offset: int, number: int, chain: bytes, change: list, end: int) -> None:
        """Damage. Reads stay possible only if every byte from the break to the reserve is a record that opens.

        The true chain can then be computed again, so a mark beyond the break must still agree.
        """
        self.hit, inside = {record.tag for record in change}, bool(change)
        at = offset
        while at < end:
            record = self._record_at(at)
            if record is None or self._irregular(record, number + 1, inside):
                raise Corrupt(f"journal: broken at {offset}, and what follows is not whole")
            self.parse(record)
            number, chain = number + 1, self._next_chain(chain, record)
            self._pass_mark(at, record.end, number, chain, bool(record.flags & LAST))
            self.hit.add(record.tag)
            inside, at = not record.flags & LAST, record.end
        if inside:
            raise Corrupt(f"journal: broken at {offset}, and its last change is not whole")
        if self.mark and self.mark[0] > at:
            raise Corrupt(f"journal: broken at {offset}, and confirmed bytes are zeros")

    def parse(self, record: Record) -> Item:
        plain = self._open(record)
        if plain is None:
            raise Corrupt(f"journal: record {record.number} does not open")
        key_size, value_size = struct.unpack_from("<II", plain)
        used = 8 + key_size + value_size
        if value_size > MAX_VALUE or used > len(plain) or len(plain) != padme(max(128, used)):
            raise Corrupt(f"journal: record {record.number} has lengths that do not fit")
        if plain.count(0, used) != len(plain) - used:
            raise Corrupt(f"journal: record {record.number} has padding other than zeros")
        name = Name.parse(plain[8:8 + key_size])
        if self.keys.tag(name) != record.tag:
            raise Corrupt(f"journal: record {record.number} holds another item than its tag says")
        if record.flags & REMOVED and value_size:
            raise Corrupt(f"journal: record {record.number} removes an item but has a value")
        return Item(name, plain[8 + key_size:used])


# --- the store --------------------------------------------------------------------------------

class Store:
    def __init__(self, directory: str, **credentials):
        """Opens for reading; see Credentials for the keywords. Trouble in the journal is raised
        by reads and lists, not here, so that `check` can still describe it."""
        directory = os.fspath(directory)
        credentials = Credentials(**credentials)
        try:
            _vet(os.lstat(directory), directory, directory=True)
        except FileNotFoundError:
            raise NotFound("there is no such directory") from None
        self.findings = []
        main, copy, following = (_load(directory, name) for name in ("header", "header.copy", "header.next"))
        # The mark before the journal: read the other way round, a write in between would look like a loss.
        mark, journal = _load(directory, "mark"), _load(directory, "journal")
        if main is copy is following is mark is journal is None:
            raise NotFound("the directory holds no store")
        header = self._choose_header(main, copy)
        keys = header.open(credentials)
        if following is not None:
            self.findings.append(("rotation", "a rotation was not finished: header.next is there"))
            if not keys.fits(journal):
                header, keys = self._follow(header, keys, following, journal, credentials)
        self.slots = [slot.describe() for slot in header.slots]
        self.journal = Journal(journal, mark, keys, header.store_id)

    def _choose_header(self, main: Optional[bytes], copy: Optional[bytes]) -> Header:
        try:
            header = Header(main or b"")
        except Damaged as damage:
            why = "it is missing" if main is None else str(damage)
            try:
                header = Header(copy or b"")
            except Damaged:
                # A later format may keep its checksum elsewhere: do not call that damage.
                for data in (main, copy):
                    if data and data[:8] == HEADER_MAGIC and data[8:10] not in (b"", b"\1\0"):
                        raise UnsupportedVersion("header: another format version") from None
                raise Corrupt("header: neither it nor its copy is usable") from None
            self.findings.append(("header", f"the copy was used instead: {why}"))
        else:
            if copy != main:
                self.findings.append(("header copy", "it is missing" if copy is None else "it differs from the header"))
        return header

    @staticmethod
    def _follow(header, keys, following, journal, credentials):
        """After an interrupted rotation the journal may already belong to header.next."""
        try:
            candidate = Header(following)
        except Damaged:
            return header, keys
        if candidate.store_id != header.store_id:
            return header, keys
        new_keys = candidate.open(credentials)
        return (candidate, new_keys) if new_keys.fits(journal) else (header, keys)

    def items(self) -> list:
        """All items, sorted by canonical key. Fails in any damaged store, for it could be incomplete."""
        if self.journal.fault:
            raise self.journal.fault
        if self.journal.hit is not None:
            raise Corrupt("journal: chain values are damaged, so the list may be incomplete")
        # A removal is not opened: the chain value, a MAC, binds its tag and its flag.
        kept = (record for record in self.journal.newest.values() if not record.flags & REMOVED)
        return sorted((self.journal.parse(record) for record in kept),
                      key=lambda item: item.name.canonical())

    def read(self, service: str, identifier: str, group: Optional[str] = None,
             install: Optional[str] = None) -> bytes:
        if self.journal.fault:
            raise self.journal.fault
        tag = self.journal.keys.tag(Name(service, group, install, identifier))
        record, damaged = self.journal.newest.get(tag), self.journal.hit is not None
        if damaged and tag in self.journal.hit:
            raise Corrupt("journal: a record of this item stands beyond the damage")
        if record is None or record.flags & REMOVED:
            if damaged:
                raise Corrupt("journal: damaged, so the item cannot be called absent")
            raise NotFound("no such item")
        return self.journal.parse(record).value

    def check(self) -> list:
        """Findings as (kind, text): header, header copy, rotation, mark, journal, tail."""
        found, journal = list(self.findings), self.journal
        if journal.mark_finding:
            found.append(("mark", journal.mark_finding))
        if journal.fault:
            found.append(("journal", str(journal.fault)))
        elif journal.hit is not None:
            found.append(("journal", "chain values are damaged; every record still opens"))
        for record in journal.records:               # superseded ones too: nothing else ever opens them
            try:
                journal.parse(record)
            except Corrupt as problem:
                found.append(("journal", str(problem)))
        if journal.tail:
            found.append(("tail", "an unfinished write of {1} bytes at {0}".format(*journal.tail)))
        return found
