"""Ends a server of credentials while it opens a store in a database that does not answer.

    ended.py SERVER ARGUMENT ...

In the arguments, DATABASE stands for the address of the database. Prints what the connection got
that asked meanwhile: nothing at all, if systemd could give it to the next server.
"""

import os
import signal
import socket
import sys

database = socket.create_server(("127.0.0.1", 0))
address = "postgresql://app@127.0.0.1:%d/app" % database.getsockname()[1]
arguments = [address if part == "DATABASE" else part for part in sys.argv[1:]]
name = b"\0session-tools-test-%d" % os.getpid()
listener = socket.socket(socket.AF_UNIX)
listener.bind(name)
listener.listen(8)
connection = socket.socket(socket.AF_UNIX)
connection.bind(b"\0%d/unit/mail.service/token" % os.getpid())
connection.connect(name)
# As systemd does.
connection.shutdown(socket.SHUT_WR)
child = os.fork()
if child == 0:
    # sd_listen_fds(3).
    os.environ |= {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": "1"}
    os.dup2(listener.fileno(), 3)
    # The call leaves a descriptor that already has the number as it is.
    os.set_inheritable(3, True)
    os.execvp(arguments[0], arguments)
# Now the server opens the store.
waiting = database.accept()
os.kill(child, signal.SIGTERM)
os.waitpid(child, 0)
# The listener is open here as it is in systemd, so that a connection in its queue stays.
connection.settimeout(1)
try:
    print("ended:", connection.recv(100))
except TimeoutError:
    print("waits")
