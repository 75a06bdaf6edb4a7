"""Serves the files of a directory to the user `me` with the password `pw`, as a server of
repositories or, at `/v2/`, as a registry of Docker.

Prints its port.
"""

import base64
import http.server
import sys


class Handler(http.server.SimpleHTTPRequestHandler):
    def do_GET(self):
        expected = "Basic " + base64.b64encode(b"me:pw").decode()
        if self.headers.get("Authorization") != expected:
            self.answer(401, **{"WWW-Authenticate": 'Basic realm="private"'})
        elif self.path == "/v2/":
            self.answer(200)
        else:
            super().do_GET()

    def answer(self, status, **fields):
        self.send_response(status)
        for name, value in fields.items():
            self.send_header(name, value)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def make_handler(*arguments):
    return Handler(*arguments, directory=sys.argv[1])


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), make_handler)
print(server.server_port, flush=True)
server.serve_forever()
