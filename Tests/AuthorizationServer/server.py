"""An OAuth 2.0 authorization server for tests: `server.py`, which prints its address when it listens.

Authlib implements the protocol; this file keeps the tokens. Refresh tokens can be used once (RFC 9700,
section 4.14.2): one that is used again revokes all that came from the same sign-in. What a test wants
to know or to change is under /test.

    POST /token                  grant_type=password or refresh_token, of the public client "app"
    GET  /me                     200 with a good access token, 401 otherwise
    GET  /test/counts            what was issued, spent, used again, and asked for
    POST /test/settings          uses=N: an access token is good for N requests
                                 limit=N: after N refreshes access tokens stay good
                                 grace=1: a spent token whose successor was not used is taken once more
"""

import os
import threading

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from flask import Flask, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server

app = Flask(__name__)
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
# One at a time, so that no two requests find the same token unspent.
lock = threading.Lock()
settings = {"uses": 1 << 60, "limit": 1 << 60, "grace": 0}
counts = {"signIns": 0, "refreshes": 0, "reuses": 0, "rejected": 0}
tokens = []


class Client(ClientMixin):
    def get_client_id(self):
        return "app"

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "none"

    def check_grant_type(self, grant_type):
        return grant_type in ("password", "refresh_token")

    def get_allowed_scope(self, scope):
        return scope or ""


class Token(dict, TokenMixin):
    def check_client(self, client):
        return True

    def get_scope(self):
        return ""

    def get_expires_in(self):
        return 3600

    def is_expired(self):
        return False

    def is_revoked(self):
        return self["isRevoked"]


def find(name, value):
    return next((token for token in tokens if token[name] == value), None)


class PasswordGrant(grants.ResourceOwnerPasswordCredentialsGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

    def authenticate_user(self, username, password):
        return {"name": username, "family": len(tokens)} if password == "open sesame" else None


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["none"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        token = find("refresh_token", refresh_token)
        if token is None or token["isRevoked"]:
            counts["rejected"] += 1
            return None
        if not token["isSpent"]:
            return token
        successor = find("parent", refresh_token)
        if settings["grace"] and successor and not successor["isUsed"]:
            # The client did not get the answer: what it was given is exchanged.
            tokens.remove(successor)
            return token
        counts["reuses"] += 1
        counts["rejected"] += 1
        for other in tokens:
            if other["user"]["family"] == token["user"]["family"]:
                other["isRevoked"] = True
        return None

    def authenticate_user(self, refresh_token):
        return refresh_token["user"]

    def revoke_old_credential(self, refresh_token):
        refresh_token["isSpent"] = True
        refresh_token["isUsed"] = True


def save(token, oauth_request):
    parent = request.form.get("refresh_token")
    counts["refreshes" if parent else "signIns"] += 1
    tokens.append(
        Token(token, user=oauth_request.user, parent=parent, useCount=0, isSpent=False, isUsed=False, isRevoked=False)
    )


server = AuthorizationServer(app, query_client=lambda identifier: Client(), save_token=save)
server.register_grant(PasswordGrant)
server.register_grant(RefreshGrant)


@app.post("/token")
def issue():
    with lock:
        return server.create_token_response()


@app.get("/me")
def me():
    with lock:
        token = find("access_token", request.headers.get("Authorization", "").removeprefix("Bearer "))
        if token is None or token["isRevoked"]:
            return jsonify(error="invalid_token"), 401
        token["isUsed"] = True
        token["useCount"] += 1
        isLast = counts["refreshes"] >= settings["limit"]
        if token["useCount"] > settings["uses"] and not isLast:
            return jsonify(error="invalid_token"), 401
        return jsonify(name=token["user"]["name"], isLast=isLast)


@app.get("/test/counts")
def tell():
    with lock:
        return jsonify(counts)


@app.post("/test/settings")
def change():
    with lock:
        settings.update({name: int(value) for name, value in request.form.items()})
        return jsonify(settings)


class QuietHandler(WSGIRequestHandler):
    # Kept open, as real servers do.
    protocol_version = "HTTP/1.1"

    def log_request(self, *arguments):
        pass


if __name__ == "__main__":
    listener = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    print(f"http://127.0.0.1:{listener.port}", flush=True)
    listener.serve_forever()
