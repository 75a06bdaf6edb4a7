"""Reader for the sealed rows of a database store, format 2.

Written from DatabaseFormat.md alone, without looking at the Swift library, so that a disagreement
between the two shows a mistake in one of them or a gap in the specification. It takes rows as a
server returns them and connects to none. Names, slots and keys of callers are those of the file
format, whose reader it uses for them.
"""

import hashlib
import hmac
import struct
from typing import NamedTuple, Optional

from sealed_store import (
    AEAD_TAG, SEALED_KEY, SLOT_NAMED, SLOT_PASSPHRASE, SLOT_RAW, Corrupt, Item, Name, NotFound,
    RefusedParameters, Slot, StoreError, UnsupportedVersion, WrongKey, derive, fingerprint,
    keyed_hash, padme, unseal)

HEADER_MAGIC, ROW_MAGIC, VERSION = b"SSNTDBS1", b"SSNTDBI1", 2
READ, WRITTEN = 1, 2
EPOCH = 8 + SEALED_KEY
MAX_VALUE, MAX_NAME = 1 << 20, 16448
MAX_VALUE_PLAIN = padme(4 + MAX_VALUE)
REFRESH = "org.session-tools.refresh:"


class KeyMissing(StoreError): kind = "key_missing"


# --- header -----------------------------------------------------------------------------------

class HeaderRow(NamedTuple):
    format: int
    number: int
    least_epoch: int
    bytes: bytes


class Epoch(NamedTuple):
    number: int
    state: int
    wrapped: bytes


class Header:
    """The header, parsed, and its columns compared with it; nothing is trusted before `open`."""

    def __init__(self, row: HeaderRow):
        if row.format > VERSION or row.format == 1:
            raise UnsupportedVersion(f"header: format {row.format}")
        data = row.bytes
        if len(data) < 40 + 48:
            raise Corrupt("header: too short")
        body = data[:-48]
        if hashlib.blake2b(body, digest_size=16).digest() != data[-48:-32]:
            raise Corrupt("header: the checksum is wrong")
        version, slots, epochs, zero, self.store_id, self.number = struct.unpack_from("<HHHH16sQ",
                                                                                      body, 8)
        if body[:8] != HEADER_MAGIC or version != VERSION or zero:
            raise Corrupt("header: magic, version or zero")
        if not 1 <= slots <= 16 or not 1 <= epochs <= 8 or not 1 <= self.number < 1 << 63:
            raise Corrupt("header: number of slots, of epochs or of the header")
        self.data, self.bound = data, body[:10] + self.store_id
        at = self._read_slots(body, slots)
        if len(body) - at != SEALED_KEY + epochs * EPOCH:
            raise Corrupt("header: its length does not fit its slots and epochs")
        self.wrapped_index_key = body[at:at + SEALED_KEY]
        at += SEALED_KEY
        self.epochs = [Epoch(*struct.unpack_from("<II72s", body, at + EPOCH * index))
                       for index in range(epochs)]
        self._check_epochs()
        written = next(epoch.number for epoch in self.epochs if epoch.state == WRITTEN)
        if (row.format != version or row.number != self.number
                or not self.epochs[0].number <= row.least_epoch <= written):
            raise Corrupt("header: a column does not agree with the bytes")

    def _read_slots(self, body: bytes, count: int) -> int:
        self.slots, at = [], 40
        for _ in range(count):
            if at + 4 > len(body):
                raise Corrupt("header: slots run past the end")
            kind, size = struct.unpack_from("<HH", body, at)
            start, end = at + 4, at + 4 + size + 16 + SEALED_KEY
            if end > len(body):
                raise Corrupt("header: slots run past the end")
            slot = Slot(kind, body[start:start + size], body[start + size:start + size + 16],
                        body[end - SEALED_KEY:end])
            self._check_parameters(slot)
            self.slots.append(slot)
            at = end
        return at

    @staticmethod
    def _check_parameters(slot: Slot) -> None:
        if slot.kind == SLOT_PASSPHRASE and len(slot.parameters) != 24:
            raise Corrupt("header: a passphrase slot's parameters are not 24 bytes")
        if slot.kind in (SLOT_RAW, SLOT_NAMED):
            try:
                slot.parameters.decode()
            except UnicodeDecodeError:
                raise Corrupt("header: a slot's label or reference is not UTF-8") from None
        if slot.kind == SLOT_NAMED and not slot.parameters:
            raise Corrupt("header: a named-key slot without a reference")

    def _check_epochs(self) -> None:
        numbers = [epoch.number for epoch in self.epochs]
        if not all(1 <= number < 1 << 31 for number in numbers):
            raise Corrupt("header: the number of an epoch")
        if any(left >= right for left, right in zip(numbers, numbers[1:])):
            raise Corrupt("header: the epochs are not ascending")
        states = [epoch.state for epoch in self.epochs]
        if not set(states) <= {READ, WRITTEN} or states.count(WRITTEN) != 1:
            raise Corrupt("header: the states of the epochs")

    def open(self, credentials) -> "Keys":
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
            bound = HEADER_MAGIC + b" slot" + self.store_id + slot.fields()
            if not hmac.compare_digest(keyed_hash(16, wrapping, bound), slot.commitment):
                continue
            store_key = self._unwrap(wrapping, slot.fields() + slot.commitment, slot.wrapped)
            if store_key is None:
                raise Corrupt("header: a slot for this key does not open")
            return self._keys(store_key)
        raise refused or WrongKey("no key slot opens")

    def _keys(self, store_key: bytes) -> "Keys":
        mac = keyed_hash(32, derive(store_key, 1), self.data[:-32])
        if not hmac.compare_digest(mac, self.data[-32:]):
            raise Corrupt("header: authentication failed although a slot opened")
        index_key = self._unwrap(store_key, b"index", self.wrapped_index_key)
        data_keys = {epoch.number: self._unwrap(store_key,
                                                b"data" + struct.pack("<I", epoch.number),
                                                epoch.wrapped) for epoch in self.epochs}
        if index_key is None or None in data_keys.values():
            raise Corrupt("header: the index key or a data key does not open")
        return Keys(
            self.store_id, index_key, data_keys, fingerprint(store_key, self.store_id))

    def _unwrap(self, key: bytes, purpose: bytes, wrapped: bytes) -> Optional[bytes]:
        return unseal(key, wrapped[:24], self.bound + purpose, wrapped[24:])


# --- addresses --------------------------------------------------------------------------------

class Address(NamedTuple):
    ns: bytes
    shard: int
    tag: bytes


def refresh_name(name: Name) -> Name:
    """Returns the name on which there is a lease while an item is refreshed."""
    return name._replace(identifier=REFRESH + name.identifier)


def refreshed_item(name: Name) -> Optional[Name]:
    """Returns the item for whose refreshes a name is; `None` for other names."""
    identifier = name.identifier.removeprefix(REFRESH)
    is_refresh = identifier != name.identifier and 1 <= len(identifier.encode()) <= 4096
    return name._replace(identifier=identifier) if is_refresh else None


class Keys:
    def __init__(self, store_id: bytes, index_key: bytes, data_keys: dict, fingerprint: str):
        self.fingerprint = fingerprint
        self.store_id = store_id
        self.group, self.namespace, self.shard, self.tag, self.lease = (
            derive(index_key, number) for number in (2, 3, 4, 5, 6))
        self.value = {epoch: derive(key, 3) for epoch, key in data_keys.items()}
        self.name = {epoch: derive(key, 5) for epoch, key in data_keys.items()}

    def address(self, name: Name) -> Address:
        # The identifier is the canonical name's last part, and always present.
        without = name.canonical()[:-(5 + len(name.identifier.encode()))]
        install = 1 if name.install is None else 5 + len(name.install.encode())
        ns = (keyed_hash(16, self.group, without[:-install])[:8]
              + keyed_hash(16, self.namespace, without)[:8])
        return Address(ns, self._shard(name), keyed_hash(16, self.tag, name.canonical()))

    def lease_address(self, name: Name) -> tuple:
        shard = self._shard(refreshed_item(name) or name)
        return shard, keyed_hash(16, self.lease, name.canonical())

    def _shard(self, name: Name) -> int:
        digest = keyed_hash(16, self.shard, name.canonical())
        return struct.unpack("<h", digest[:2])[0]


# --- rows -------------------------------------------------------------------------------------

class Row(NamedTuple):
    ns: bytes
    shard: int
    tag: bytes
    version: int
    epoch: int
    gone: bool
    write: bytes
    nonce: bytes
    name: bytes
    value: bytes

    def check(self) -> None:
        lengths = [len(self.ns), len(self.tag), len(self.write), len(self.nonce)]
        if lengths != [16, 16, 16, 24] or self.epoch < 1:
            raise Corrupt("row: a column that no writer makes")

    def bound(self, store_id: bytes) -> bytes:
        return (ROW_MAGIC + store_id + self.ns + struct.pack("<h", self.shard) + self.tag
                + struct.pack("<qiB", self.version, self.epoch, self.gone) + self.write)


class Database:
    """The rows of a store."""

    def __init__(self, header: HeaderRow, rows: list, credentials):
        self.keys = Header(header).open(credentials)
        self.rows = rows

    def items(self) -> list:
        """Returns all items, sorted by canonical name; fails when one row does not open."""
        items = []
        for row in self.rows:
            row.check()
            name = self._name(row)
            value = self._value(row)
            if value is not None:
                items.append(Item(name, value))
        return sorted(items, key=lambda item: item.name.canonical())

    def read(self, name: Name) -> bytes:
        """Returns the value of one item: the rows at its address alone are looked at."""
        address = self.keys.address(name)
        for row in self.rows:
            if (row.ns, row.shard, row.tag) == address:
                row.check()
                value = self._value(row)
                if value is not None:
                    return value
        raise NotFound("no such item")

    def _unseal(self, keys: dict, row: Row, sealed: bytes) -> bytes:
        if row.epoch not in keys:
            raise KeyMissing(f"row: epoch {row.epoch} is not in the header")
        if len(sealed) < 64 + AEAD_TAG:
            raise Corrupt("row: name or value is too short")
        plain = unseal(keys[row.epoch], row.nonce, row.bound(self.keys.store_id), sealed)
        if plain is None:
            raise Corrupt("row: it does not open")
        return plain

    def _name(self, row: Row) -> Name:
        plain = self._unseal(self.keys.name, row, row.name)
        if not 64 <= len(plain) <= MAX_NAME:
            raise Corrupt("row: the length of the name")
        name = Name.parse(plain)
        if self.keys.address(name) != (row.ns, row.shard, row.tag):
            raise Corrupt("row: its name belongs to another address")
        return name

    def _value(self, row: Row) -> Optional[bytes]:
        plain = self._unseal(self.keys.value, row, row.value)
        if not 64 <= len(plain) <= MAX_VALUE_PLAIN:
            raise Corrupt("row: the length of the value")
        end = 4 + struct.unpack_from("<I", plain)[0]
        if end > 4 + MAX_VALUE or len(plain) != padme(max(64, end)) or any(plain[end:]):
            raise Corrupt("row: the value's length or padding")
        if row.gone and end != 4:
            raise Corrupt("row: a removal with a value")
        return None if row.gone else plain[4:end]
