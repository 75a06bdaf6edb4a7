"""Starts a server of credentials as systemd does, and asks it as systemd, and as others, would.

    client.py USER NAME ... -- SERVER ARGUMENT ...

Connects once for each NAME, from an abstract socket of that name, or without one if the name is
empty; as USER, if that is not this process's own. Prints what the server sent, or the number of its
bytes if there are many.
"""

import os
import socket
import sys

user = int(sys.argv[1])
end = sys.argv.index("--")
names, server = sys.argv[2:end], sys.argv[end + 1:]

# An abstract name, so that no permission of a file keeps other users out.
address = b"\0session-tools-test-%d" % os.getpid()
listener = socket.socket(socket.AF_UNIX)
listener.bind(address)
listener.listen(8)

# The server starts when all connections are made, and does not end between two of them.
start, connected = os.pipe()
child = os.fork()
if child == 0:
    os.close(connected)
    os.read(start, 1)
    # sd_listen_fds(3).
    os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
    os.dup2(listener.fileno(), 3)
    # The call leaves a descriptor that already has the number as it is.
    os.set_inheritable(3, True)
    os.execvp(server[0], server)
listener.close()
if user != os.getuid():
    os.setresuid(user, user, user)
connections = [socket.socket(socket.AF_UNIX) for _ in names]
for connection, name in zip(connections, names):
    if name:
        connection.bind(b"\0%d%s" % (os.getpid(), name.encode()))
    connection.connect(address)
    # As systemd does.
    connection.shutdown(socket.SHUT_WR)
os.close(connected)
for connection in connections:
    answer = b""
    while part := connection.recv(1 << 16):
        answer += part
    print(answer if len(answer) < 100 else f"{len(answer)} bytes", flush=True)
    connection.close()
os.waitpid(child, 0)
