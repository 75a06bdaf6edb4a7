"""A server whose answers an HTTP client must not accept, of another kind for each path.

Prints its port. `/seen` returns the requested paths, `/names` the names of all header fields,
`/sent` the number of bytes written of answers without an end, and `/token` answers as a token
endpoint does. With the file of a certificate and its key as an argument, it speaks TLS.
"""

import gzip
import http.server
import ssl
import sys
import time

TOKENS = b'{"access_token": "new", "token_type": "Bearer", "refresh_token": "next"}'


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        self.server.seen.append(self.path)
        self.server.names.update(name.lower() for name in self.headers)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == "/drop":
            self.close_connection = True
        elif self.path == "/hang":
            time.sleep(600)
        elif self.path in ("/endless", "/declared", "/fields", "/trickle"):
            self.send_without_end()
        elif self.path == "/sent":
            self.finish_with(str(self.server.sent).encode())
        elif self.path == "/names":
            self.finish_with("\n".join(sorted(self.server.names)).encode())
        elif self.path in ("/short", "/torn"):
            self.close_connection = True
            self.send_response(200)
            self.send_header("Content-Length", "5000")
            self.end_headers()
            self.wfile.write(b"{}" if self.path == "/short" else TOKENS)
        elif self.path in ("/packed", "/bomb"):
            size = 20 if self.path == "/packed" else 50_000_000
            self.finish_with(gzip.compress(b"x" * size), **{"Content-Encoding": "gzip"})
        elif self.path == "/large":
            self.finish_with(b"x" * 5_000_000)
        elif self.path == "/token":
            self.finish_with(TOKENS)
        elif self.path in ("/redirect", "/see-other"):
            self.finish_with(b"", 307 if self.path == "/redirect" else 303, Location="/target")
        else:
            self.finish_with("\n".join(self.server.seen).encode())

    def finish_with(self, body, status=200, **fields):
        self.send_response(status)
        fields |= {
            "Set-Cookie": "a=b", "X-Cookie": self.headers.get("Cookie", "none"),
            "Content-Length": str(len(body))}
        for name, value in fields.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def send_without_end(self):
        self.close_connection = True
        self.send_response(200)
        if self.path == "/declared":
            self.send_header("Content-Length", str(4 << 30))
        if self.path in ("/endless", "/trickle"):
            self.send_header("Transfer-Encoding", "chunked")
        if self.path == "/fields":
            self.flush_headers()
        else:
            self.end_headers()
        piece = {
            "/endless": b"10000\r\n" + b"x" * 65536 + b"\r\n",
            "/trickle": b"1\r\nx\r\n",
            "/fields": b"X-Field: " + b"x" * 8000 + b"\r\n",
        }.get(self.path, b"x" * 65536)
        try:
            while self.server.sent < 4 << 30:
                self.wfile.write(piece)
                self.server.sent += len(piece)
                if self.path == "/trickle":
                    time.sleep(0.02)
        except OSError:
            pass

    do_GET = do_POST = answer

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.seen = []
server.names = set()
server.sent = 0
if len(sys.argv) > 1:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(sys.argv[1])
    server.socket = context.wrap_socket(server.socket, server_side=True)
print(server.server_port, flush=True)
server.serve_forever()
