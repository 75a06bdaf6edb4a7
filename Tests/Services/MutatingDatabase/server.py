"""A proxy in front of a database that changes a message or two of each connection at random.

    server.py PORT SEED

PORT is the database's; what it prints is its own. Messages to the client are changed in one bit or
in their length, cut, repeated, left out, put in another place, or replaced by an earlier one.
"""

import random
import socket
import struct
import sys
import threading

port, seed = sys.argv[1:]
chance = random.Random(int(seed))
earlier = []


def read(file):
    """Returns the next message; None at the end."""
    head = file.read(5)
    if len(head) < 5:
        return None
    return head + file.read(struct.unpack("!i", head[1:])[0] - 4)


def change(message):
    """Returns what the client gets in place of a message, and whether anything follows it."""
    manner = chance.choice(
        ["bit"] * 3 + ["length", "cut", "stop", "repeat", "flood", "drop", "splice", "insert"])
    bytes_ = bytearray(message)
    if manner == "bit":
        position = chance.randrange(len(bytes_))
        bytes_[position] ^= 1 << chance.randrange(8)
    elif manner == "length":
        bytes_[1:5] = struct.pack("!i", chance.choice([-1, 0, 3, 5, 255, 1 << 20, (1 << 31) - 1]))
    elif manner == "cut":
        return bytes(bytes_[:chance.randrange(len(bytes_))]), True
    elif manner == "stop":
        return bytes(bytes_[:chance.randrange(len(bytes_))]), False
    elif manner == "repeat":
        return message * 2, True
    elif manner == "flood":
        return message * 100_000, True
    elif manner == "drop":
        return b"", True
    elif manner == "splice":
        return chance.choice(earlier or [message]), True
    else:
        return message + chance.choice(earlier or [message]), True
    return bytes(bytes_), True


def serve(client):
    server = socket.create_connection(("127.0.0.1", int(port)))
    # Otherwise the kernel holds back each second message for 40 ms.
    for link in client, server:
        link.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    asked = client.makefile("rb")
    length = asked.read(4)
    server.sendall(length + asked.read(struct.unpack("!i", length)[0] - 4))

    def forward():
        try:
            while piece := client.recv(1 << 16):
                server.sendall(piece)
            server.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    threading.Thread(target=forward, daemon=True).start()
    count = chance.choice([1, 1, 2])
    places = {chance.randrange(chance.choice([20, 60, 200])) for _ in range(count)}
    answers, number = server.makefile("rb"), 0
    try:
        while message := read(answers):
            goesOn, sent = True, message
            if number in places:
                sent, goesOn = change(message)
            earlier.append(message)
            del earlier[:-500]
            number += 1
            client.sendall(sent)
            if not goesOn:
                break
    finally:
        client.shutdown(socket.SHUT_RDWR)
        client.close()
        server.close()


def serve_safely(client):
    try:
        serve(client)
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve_safely, args=(listener.accept()[0],), daemon=True).start()
