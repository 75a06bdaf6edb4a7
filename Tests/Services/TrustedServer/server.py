"""An https server with a certificate of an authority of its own, and a proxy in front of anything.

    server.py DIRECTORY

Makes the authority and the certificates with openssl, and prints the ports: of a server whose
certificate names `localhost`, of one whose certificate has expired, of one whose certificate has
another name, of a proxy that asks for a password, of one that refuses, of one that cannot reach the
server, and of one that breaks off. `DIRECTORY/authority.pem` is the authority's certificate,
`DIRECTORY/hashed` a directory with it; `DIRECTORY/connections` gets a line for each request to
connect.
"""

import http.server
import os
import ssl
import subprocess
import sys
import threading

directory = sys.argv[1]


def openssl(*arguments):
    subprocess.run(["openssl", *arguments], cwd=directory, check=True, capture_output=True)


def make_authority():
    openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "authority.key",
            "-out", "authority.pem", "-subj", "/CN=Company authority", "-days", "30")
    os.mkdir(f"{directory}/hashed")
    subprocess.run(["cp", f"{directory}/authority.pem", f"{directory}/hashed"], check=True)
    openssl("rehash", "hashed")


def make_certificate(name, host, *validity):
    openssl("req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key",
            "-out", f"{name}.csr", "-subj", f"/CN={host}")
    with open(f"{directory}/{name}.ext", "w") as file:
        file.write(f"subjectAltName=DNS:{host}\n")
    openssl("x509", "-req", "-in", f"{name}.csr", "-CA", "authority.pem", "-CAkey",
            "authority.key", "-CAcreateserial", "-out", f"{name}.pem", "-extfile", f"{name}.ext",
            *validity)


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_CONNECT(self):
        with open(f"{directory}/connections", "a") as file:
            print(self.path, file=file)
        if self.server.status is None:
            return
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments):
        pass


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *arguments):
        pass


def serve(certificate=None, status=200):
    server = Server(("127.0.0.1", 0), Answer)
    server.status = status
    if certificate:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(f"{directory}/{certificate}.pem", f"{directory}/{certificate}.key")
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


make_authority()
make_certificate("good", "localhost", "-days", "30")
make_certificate("expired", "localhost", "-days", "0")
make_certificate("other", "other.example", "-days", "30")
ports = [serve("good"), serve("expired"), serve("other")]
ports += [serve(status=407), serve(status=403), serve(status=502),
          serve(status=None)]
print(*ports, flush=True)
threading.Event().wait()
