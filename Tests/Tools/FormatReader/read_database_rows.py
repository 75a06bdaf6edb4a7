#!/usr/bin/env python3
"""Prints the items in rows of a database store as JSON: read_database_rows.py --key-file F ROWS

ROWS is a JSON file with the columns of `header` and of all rows of `item`, bytes as hexadecimal
digits. The key file holds exactly 32 bytes. The addresses of the leases on each item's name, and on
that of its refresh, are printed, too.
"""

import argparse
import json
import sys

import database_rows
from sealed_store import Credentials, StoreError

BYTES = {"bytes", "ns", "tag", "write", "nonce", "name", "value"}


def columns(row: dict) -> dict:
    return {name: bytes.fromhex(value) if name in BYTES else value for name, value in row.items()}


def lease(keys: database_rows.Keys, name) -> dict:
    shard, tag = keys.lease_address(name)
    return {"shard": shard, "tag": tag.hex()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", metavar="ROWS")
    parser.add_argument("--key-file", metavar="F", required=True)
    options = parser.parse_args()
    with open(options.key_file, "rb") as file:
        key = file.read()
    with open(options.rows, encoding="utf-8") as file:
        tables = json.load(file)
    try:
        database = database_rows.Database(
            database_rows.HeaderRow(**columns(tables["header"])),
            [database_rows.Row(**columns(row)) for row in tables["item"]],
            Credentials(raw_key=key))
        answer, status = {"fingerprint": database.keys.fingerprint, "items": [
            dict(item.name._asdict(), value=item.value.hex(),
                 lease=lease(database.keys, item.name),
                 refresh_lease=lease(database.keys, database_rows.refresh_name(item.name)))
            for item in database.items()]}, 0
    except StoreError as problem:
        answer, status = {"error": problem.kind, "what": str(problem)}, 1
    print(json.dumps(answer))
    return status


if __name__ == "__main__":
    sys.exit(main())
