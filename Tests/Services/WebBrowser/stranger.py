"""A process that connects to a port of 127.0.0.1 that it has nothing to do with.

    stranger.py send PORT            sends standard input, and prints the answer
    stranger.py half PORT            the same, and closes the sending direction after the input
    stranger.py rush PORT            sends standard input, and exits at once
    stranger.py idle PORT COUNT      connects COUNT times, sends nothing, reconnects when closed
    stranger.py drip PORT COUNT      the same, but sends a byte now and then
"""

import selectors
import socket
import sys

PATIENCE = 300


def send(port, manner, host):
    # Before it connects, because a silent connection is closed.
    content = sys.stdin.buffer.read()
    with socket.create_connection((host, port), PATIENCE) as connection:
        connection.sendall(content)
        if manner == "rush":
            return
        if manner == "half":
            connection.shutdown(socket.SHUT_WR)
        while part := connection.recv(1 << 16):
            sys.stdout.buffer.write(part)


def stay(port, count, dripping):
    waiting = selectors.DefaultSelector()

    def connect():
        connection = socket.create_connection(("127.0.0.1", port), PATIENCE)
        waiting.register(connection, selectors.EVENT_READ)

    for _ in range(count):
        connect()
    print("ready", flush=True)
    while True:
        for key, _ in waiting.select(0.05):
            waiting.unregister(key.fileobj)
            key.fileobj.close()
            connect()
        for key in list(waiting.get_map().values()) if dripping else []:
            try:
                key.fileobj.send(b"G")
            except OSError:
                pass  # closed by the listener, which is handled above


if __name__ == "__main__":
    port = int(sys.argv[2])
    try:
        if sys.argv[1] in ("send", "half", "rush"):
            send(port, sys.argv[1], sys.argv[3] if len(sys.argv) > 3 else "127.0.0.1")
        else:
            stay(port, int(sys.argv[3]), sys.argv[1] == "drip")
    except ConnectionError:
        # The listener has ended, or has closed the connection.
        sys.exit(0)
