"""A proxy in front of a database that changes the pages of a list.

    server.py PORT STATEMENT MANNER

PORT is the database's; what it prints is its own. STATEMENT is the name of the prepared statement
that reads a page. MANNER is `repeat` (the first page takes the place of the others), `turn` (the
rows of each page come in the opposite order) or `double` (each row comes twice).
"""

import socket
import struct
import sys
import threading

port, statement, manner = sys.argv[1:]
first = []


def read(file):
    """Returns the next message; None at the end."""
    head = file.read(5)
    if len(head) < 5:
        return None
    return head + file.read(struct.unpack("!i", head[1:])[0] - 4)


def change(answer):
    """Returns what the client gets in place of an answer, a list of messages."""
    rows = [message for message in answer if message[:1] == b"D"]
    if not rows:
        return answer
    if manner == "repeat":
        if not first:
            first.extend(answer)
        return first
    start = answer.index(rows[0])
    if manner == "turn":
        rows.reverse()
    else:
        rows = [row for row in rows for _ in range(2)]
    return answer[:start] + rows + [m for m in answer[start:] if m[:1] != b"D"]


def serve(client):
    server = socket.create_connection(("127.0.0.1", int(port)))
    asked = client.makefile("rb")
    length = asked.read(4)
    server.sendall(length + asked.read(struct.unpack("!i", length)[0] - 4))
    pages = []

    def forward():
        isPage = False
        while message := read(asked):
            if message[:1] == b"B" and message[5:].split(b"\0")[1] == statement.encode():
                isPage = True
            if message[:1] in b"SQ":
                pages.append(isPage)
                isPage = False
            server.sendall(message)
        server.shutdown(socket.SHUT_WR)

    threading.Thread(target=forward, daemon=True).start()
    answers, answer, isStarted = server.makefile("rb"), [], False
    while message := read(answers):
        answer.append(message)
        if not isStarted or message[:1] == b"Z":
            isStarted = isStarted or message[:1] == b"Z"
            isPage = pages.pop(0) if isStarted and len(answer) > 1 and pages else False
            client.sendall(b"".join(change(answer) if isPage else answer))
            answer = []
    client.close()


def serve_safely(client):
    try:
        serve(client)
    except OSError:
        pass


listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
while True:
    threading.Thread(target=serve_safely, args=(listener.accept()[0],), daemon=True).start()
