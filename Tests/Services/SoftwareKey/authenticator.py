"""The commands of a FIDO2 authenticator (CTAP 2.1): PIN, fingerprint reader, hmac-secret."""

import hashlib
import hmac
import json
import os
import struct
import time

import cbor
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

CURVE = ec.SECP256R1()
CURVE_ORDER = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
PRESENT, VERIFIED, HAS_CREDENTIAL, HAS_EXTENSIONS = 1, 4, 0x40, 0x80

# Status codes (CTAP 2.1, 8.2).
INVALID_COMMAND, UNSUPPORTED_OPTION, INVALID_OPTION, NO_CREDENTIALS = 0x01, 0x2B, 0x2C, 0x2E
PIN_INVALID, PIN_BLOCKED, PIN_AUTH_INVALID, PIN_AUTH_BLOCKED = 0x31, 0x32, 0x33, 0x34
PIN_NOT_SET, PIN_REQUIRED, UV_BLOCKED, UV_INVALID = 0x35, 0x36, 0x3C, 0x3F


class Refused(Exception):
    """Ends a command with a status."""


def digest(data):
    return hashlib.sha256(data).digest()


def authenticate(key, data):
    return hmac.new(key, data, "sha256").digest()


def public_key(key, algorithm):
    numbers = key.public_key().public_numbers()
    x, y = (number.to_bytes(32, "big") for number in (numbers.x, numbers.y))
    return {1: 2, 3: algorithm, -1: 1, -2: x, -3: y}


class Authenticator:
    """One key. What is set in its directory's file `behavior` holds from the next command on."""

    def __init__(self, directory, pin, wait):
        self.directory = directory
        self.wait = wait
        self.agreement = ec.generate_private_key(CURVE)
        self.token = os.urandom(32)
        self.wrong_in_a_row = 0
        self.plugged = None
        try:
            with open(f"{directory}/state") as file:
                self.state = json.load(file)
        except FileNotFoundError:
            pin = digest(pin.encode())[:16].hex() if pin else None
            self.state = {"master": os.urandom(32).hex(), "pin": pin, "tries": 8, "fingers": 3}
            self.save()

    @property
    def master(self):
        return bytes.fromhex(self.state["master"])

    def save(self):
        with open(f"{self.directory}/state.new", "w") as file:
            json.dump(self.state, file)
        os.replace(f"{self.directory}/state.new", f"{self.directory}/state")

    def behavior(self, name, usual=None):
        try:
            with open(f"{self.directory}/behavior") as file:
                return json.load(file).get(name, usual)
        except FileNotFoundError:
            return usual

    def log(self, line):
        with open(f"{self.directory}/log", "a") as file:
            file.write(line + "\n")

    def answer(self, command, body):
        """Returns the status and the content of the answer to a command."""
        if self.behavior("plugged") != self.plugged:
            self.plugged = self.behavior("plugged")
            self.wrong_in_a_row = 0
        commands = {
            1: self.make_credential, 2: self.get_assertion, 4: self.info, 6: self.client_pin}
        try:
            if command not in commands:
                raise Refused(INVALID_COMMAND)
            content = commands[command](cbor.decode(body) if body else {})
        except Refused as refusal:
            return bytes(refusal.args)
        if command != 4 and self.behavior("answer") == "silence":
            time.sleep(6)
        if command != 4 and self.behavior("answer") == "garbage":
            return b"\0\xa3\x01\xbf\xff\x02"
        return b"\0" + (cbor.encode(content) if content else b"")

    def info(self, _):
        options = {"rk": True, "up": True, "clientPin": self.state["pin"] is not None}
        options["pinUvAuthToken"] = True
        if self.behavior("reader"):
            options["uv"] = True
        extensions = [] if self.behavior("answer") == "no secrets" else ["hmac-secret"]
        algorithms_ = [{"alg": -7, "type": "public-key"}]
        return {1: ["FIDO_2_0", "FIDO_2_1"], 2: extensions + ["credProtect"], 3: bytes(16),
                4: options, 5: 1200, 6: [2, 1], 9: ["usb"], 10: algorithms_}

    # The PIN and its two protocols.

    def shared_keys(self, protocol, peer):
        x, y = (int.from_bytes(peer[name], "big") for name in (-2, -3))
        point = ec.EllipticCurvePublicNumbers(x, y, CURVE).public_key()
        secret = self.agreement.exchange(ec.ECDH(), point)
        if protocol == 1:
            return digest(secret), digest(secret)
        secret = authenticate(bytes(32), secret)
        return tuple(authenticate(secret, b"CTAP2 %s key\x01" % use) for use in (b"HMAC", b"AES"))

    def encrypt(self, protocol, keys, data):
        start = bytes(16) if protocol == 1 else os.urandom(16)
        cipher = Cipher(algorithms.AES(keys[1]), modes.CBC(start)).encryptor()
        return (b"" if protocol == 1 else start) + cipher.update(data)

    def decrypt(self, protocol, keys, data):
        start, data = (bytes(16), data) if protocol == 1 else (data[:16], data[16:])
        return Cipher(algorithms.AES(keys[1]), modes.CBC(start)).decryptor().update(data)

    def check(self, protocol, key, data, tag):
        expected = authenticate(key, data)
        if not hmac.compare_digest(expected[:16] if protocol == 1 else expected, tag):
            raise Refused(PIN_AUTH_INVALID)

    def client_pin(self, request):
        protocol, subcommand = request.get(1, 1), request[2]
        if subcommand == 1:
            return {3: self.state["tries"]}
        if subcommand == 2:
            return {1: public_key(self.agreement, -25)}
        if subcommand == 7:
            return {5: self.state["fingers"]}
        keys = self.shared_keys(protocol, request[3])
        if subcommand == 3:
            if self.state["pin"]:
                raise Refused(PIN_AUTH_INVALID)
            self.check(protocol, keys[0], request[5], request[4])
            pin = self.decrypt(protocol, keys, request[5]).rstrip(b"\0")
            self.state["pin"] = digest(pin)[:16].hex()
            self.save()
            return {}
        if subcommand in (5, 9):
            if self.behavior("refuses the PIN"):
                raise Refused(self.behavior("refuses the PIN"))
            self.check_pin(self.decrypt(protocol, keys, request[6]).hex())
        elif subcommand == 6 and self.behavior("reader"):
            self.check_finger()
        else:
            raise Refused(UNSUPPORTED_OPTION)
        return {2: self.encrypt(protocol, keys, self.token)}

    def check_pin(self, pin):
        if not self.state["pin"]:
            raise Refused(PIN_NOT_SET)
        if self.state["tries"] == 0:
            raise Refused(PIN_BLOCKED)
        if self.wrong_in_a_row >= 3:
            raise Refused(PIN_AUTH_BLOCKED)
        # Counted before it is compared, so that cutting the power gains nothing.
        self.state["tries"] -= 1
        self.save()
        if pin != self.state["pin"]:
            self.log("wrong PIN")
            self.wrong_in_a_row += 1
            self.agreement = ec.generate_private_key(CURVE)
            if self.state["tries"] == 0:
                raise Refused(PIN_BLOCKED)
            raise Refused(PIN_AUTH_BLOCKED if self.wrong_in_a_row >= 3 else PIN_INVALID)
        self.log("right PIN")
        self.state.update(tries=8, fingers=3)
        self.wrong_in_a_row = 0
        self.save()

    def check_finger(self):
        if self.state["fingers"] == 0:
            raise Refused(UV_BLOCKED)
        self.wait("finger")
        if self.behavior("finger") == "wrong":
            self.log("wrong finger")
            self.state["fingers"] -= 1
            self.save()
            raise Refused(UV_BLOCKED if self.state["fingers"] == 0 else UV_INVALID)
        self.log("right finger")

    def is_verified(self, request, hash_, tag, protocol, options):
        if tag in request:
            self.check(request.get(protocol, 1), self.token, request[hash_], request[tag])
            return True
        if request.get(options, {}).get("uv"):
            if not self.behavior("reader"):
                raise Refused(INVALID_OPTION)
            self.check_finger()
            return True
        return False

    # Credentials: their IDs hold what their keys are derived with, so that none is kept.

    def credential(self, party, nonce):
        seed = authenticate(self.master, b"key" + digest(party.encode()) + nonce)
        key = ec.derive_private_key(int.from_bytes(seed, "big") % (CURVE_ORDER - 1) + 1, CURVE)
        return key, nonce + authenticate(self.master, b"id" + digest(party.encode()) + nonce)

    def data(self, party, flags):
        silenced = {"no verification": VERIFIED, "no presence": PRESENT}
        flags &= ~silenced.get(self.behavior("answer"), 0)
        return digest(party.encode()) + bytes([flags]) + struct.pack(">I", 0)

    def make_credential(self, request):
        if self.state["pin"] and 8 not in request and not request.get(7, {}).get("uv"):
            raise Refused(PIN_REQUIRED)
        verified = VERIFIED if self.is_verified(request, 1, 8, 9, 7) else 0
        self.log("make credential")
        self.wait("touch")
        party = request[2]["id"]
        key, identifier = self.credential(party, os.urandom(32))
        data = self.data(party, PRESENT | verified | HAS_CREDENTIAL | HAS_EXTENSIONS)
        data += bytes(16) + struct.pack(">H", len(identifier)) + identifier
        data += cbor.encode(public_key(key, -7)) + cbor.encode({"hmac-secret": True})
        signature = key.sign(data + request[1], ec.ECDSA(hashes.SHA256()))
        return {1: "packed", 2: data, 3: {"alg": -7, "sig": signature}}

    def get_assertion(self, request):
        party, is_present = request[1], request.get(5, {}).get("up", True)
        if self.behavior("always asks") and not request.get(5, {}).get("uv") and 6 not in request:
            raise Refused(PIN_REQUIRED)
        for given in request.get(3, []):
            key, identifier = self.credential(party, given["id"][:32])
            if hmac.compare_digest(identifier, given["id"]):
                break
        else:
            self.log("unknown credential")
            raise Refused(NO_CREDENTIALS)
        verified = VERIFIED if self.is_verified(request, 2, 6, 7, 5) else 0
        if self.behavior("answer") == "always verified" and is_present:
            verified = VERIFIED
        if is_present:
            self.log("assertion")
            self.wait("touch")
        flags, extensions = is_present * PRESENT | verified, b""
        if "hmac-secret" in request.get(4, {}):
            flags |= HAS_EXTENSIONS
            secret = self.secret(request[4]["hmac-secret"], identifier, verified)
            extensions = cbor.encode({"hmac-secret": secret})
        data = self.data(party, flags) + extensions
        signature = key.sign(data + request[2], ec.ECDSA(hashes.SHA256()))
        return {1: {"id": identifier, "type": "public-key"}, 2: data, 3: signature}

    def secret(self, request, identifier, verified):
        protocol = request.get(4, 1)
        keys = self.shared_keys(protocol, request[1])
        self.check(protocol, keys[0], request[2], request[3])
        salts = self.decrypt(protocol, keys, request[2])
        # Another secret without verification, as the specification demands.
        key = authenticate(self.master, (b"verified" if verified else b"touched") + identifier)
        output = b"".join(authenticate(key, salts[at:at + 32]) for at in range(0, len(salts), 32))
        if self.behavior("answer") == "long secret":
            output += bytes(32)
        return self.encrypt(protocol, keys, output)
