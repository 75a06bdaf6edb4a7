"""An authorization server that answers as a test wants.

Prints its address. `GET /authorize` allows every login and sends the browser back. `POST /test/set`
with a JSON object changes the answers: `token`, `device` and `revoke` are each a list of a status
and a text, `metadata` whether there is any, and `pause` the seconds before each answer. `GET
/test/seen` returns the requests of these, one a line: the path and the form.
"""

import http.server
import json
import time
import urllib.parse


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def reply(self, status, text="", **fields):
        self.send_response(status)
        for name, value in (fields | {"Content-Length": str(len(text.encode()))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self):
        path, _, query = self.path.partition("?")
        issuer = self.server.issuer
        if path == "/test/seen":
            return self.reply(200, "".join(line + "\n" for line in self.server.seen))
        if path == "/authorize":
            self.server.seen.append(f"{path} {query}")
            form = dict(urllib.parse.parse_qsl(query))
            answer = urllib.parse.urlencode({"code": "c", "state": form["state"]})
            return self.reply(302, Location=f"{form['redirect_uri']}?{answer}")
        if path == "/.well-known/oauth-authorization-server" and self.server.answers["metadata"]:
            names = {"authorization": "/authorize", "token": "/token", "revocation": "/revoke",
                     "device_authorization": "/device"}
            places = {f"{name}_endpoint": issuer + path for name, path in names.items()}
            return self.reply(200, json.dumps({"issuer": issuer} | places))
        self.reply(404, "<html>Nothing here</html>")

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        if self.path == "/test/set":
            self.server.answers |= json.loads(body)
            return self.reply(204)
        self.server.seen.append(f"{self.path} {body}")
        time.sleep(self.server.answers["pause"])
        answer = self.server.answers.get(self.path[1:])
        self.reply(*(answer or [404, "<html>Nothing here</html>"]))

    def log_message(self, *arguments):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
server.issuer = f"http://127.0.0.1:{server.server_port}"
server.seen = []
server.answers = {
    "metadata": True, "pause": 0, "revoke": [200, ""],
    "token": [200, '{"access_token": "AT1", "refresh_token": "RT1", "expires_in": 0.001}'],
    "device": [200, json.dumps({
        "device_code": "d", "user_code": "U", "verification_uri": server.issuer, "interval": 1})],
}
print(server.issuer, flush=True)
server.serve_forever()
