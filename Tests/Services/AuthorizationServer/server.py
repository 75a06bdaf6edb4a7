"""An OAuth 2.0 authorization server for tests, which prints its address when it listens.

Authlib implements the protocol; this file keeps the tokens. Refresh tokens can be used once
(RFC 9700, section 4.14.2): using one again revokes all tokens from the same sign-in. Tests read
counts and change settings under /test.

    POST /token                  grant_type=password, refresh_token, authorization_code or that of
                                 devices, for the public client "app"
    GET  /me                     200 with a valid access token, 401 otherwise
    GET  /test/counts            signIns, refreshes, reuses, rejected, held
    POST /test/settings          uses=N: an access token is valid for N requests
                                 limit=N: after N refreshes access tokens stay valid
                                 grace=1: a spent token whose successor is unused is accepted once
                                 more
                                 lifetime=S: access tokens expire S seconds after they are issued
                                 rotate=0: refreshes return no new refresh token
                                 refresh=0: there are no refresh tokens
                                 status=N: the token endpoint answers with that status, and with
                                 Retry-After: S if wait=S
                                 hold=1: the token endpoint does not answer until hold is 0 again
                                 stale=N: the access tokens of the first N users by name, issued so
                                 far, are valid no more
                                 lead=S: the server's clock is S seconds ahead
                                 revoke=1: revokes all tokens issued so far
    The rest is in logins.py.
"""

import os
import sys
import threading
import time
from urllib.parse import urlsplit

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"

from authlib.integrations.flask_oauth2 import AuthorizationServer
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from flask import Flask, jsonify, request
from werkzeug.serving import WSGIRequestHandler, make_server

import logins

app = Flask(__name__)
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
# One request at a time, so that no two find the same token unspent.
lock = threading.Lock()
settings = {"uses": 1 << 60, "limit": 1 << 60, "grace": 0, "lifetime": 3600, "rotate": 1}
settings |= {"refresh": 1, "status": 200, "wait": 0, "hold": 0, "lead": 0}
changed = threading.Condition(lock)
counts = {"signIns": 0, "refreshes": 0, "reuses": 0, "rejected": 0, "held": 0}
tokens = []


class Client(ClientMixin):
    def get_client_id(self):
        return "app"

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "none"

    def check_grant_type(self, grant_type):
        return True

    def check_response_type(self, response_type):
        return response_type == "code"

    def get_default_redirect_uri(self):
        return None

    def check_redirect_uri(self, redirect_uri):
        # Any port of the loopback interface (RFC 8252, section 7.3), and a web service.
        address = urlsplit(redirect_uri)
        isLoopback = address.scheme == "http" and address.hostname in ("127.0.0.1", "::1")
        isService = redirect_uri == "https://app.example/callback"
        return isService or isLoopback and address.path == "/callback"

    def get_allowed_scope(self, scope):
        return scope or ""


class Token(dict, TokenMixin):
    def check_client(self, client):
        return True

    def get_scope(self):
        return self.get("scope", "")

    def get_expires_in(self):
        return 3600

    def is_expired(self):
        return False

    def is_revoked(self):
        return self["isRevoked"]


def find(name, value):
    return next((token for token in tokens if token.get(name) == value), None)


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
            # The client did not receive the answer, so the unused successor is replaced.
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
        refresh_token["isSpent"] = bool(settings["rotate"])
        refresh_token["isUsed"] = True


def save(token, oauth_request):
    parent = request.form.get("refresh_token")
    counts["refreshes" if parent else "signIns"] += 1
    # A lifetime of 0 would say that there is no end, or that nothing is known of it.
    token["expires_in"] = settings["lifetime"] or 0.001
    if not settings["refresh"] or (parent and not settings["rotate"]):
        token.pop("refresh_token", None)
    tokens.append(
        Token(
            token,
            user=oauth_request.user,
            parent=parent,
            useCount=0,
            isSpent=False,
            isUsed=False,
            isRevoked=False,
        )
    )


def client_of(identifier):
    return Client() if identifier == "app" else None


server = AuthorizationServer(app, query_client=client_of, save_token=save)
server.register_grant(PasswordGrant)
# What adds an identity token to the answer, if the scope has openid.
identities = []
server.register_grant(RefreshGrant, identities)


@app.post("/token")
def issue():
    with lock:
        counts["held"] += bool(settings["hold"])
        while settings["hold"]:
            changed.wait()
        if settings["status"] != 200:
            headers = {"Retry-After": str(settings["wait"])} if settings["wait"] else {}
            return "busy", settings["status"], headers
        return server.create_token_response()


@app.get("/me")
def me():
    with lock:
        sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
        token = find("access_token", sent)
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
        changed.notify_all()
        for token in tokens if settings.pop("revoke", 0) else []:
            token["isRevoked"] = True
        names = sorted({token["user"]["name"] for token in tokens})[: settings.pop("stale", 0)]
        for token in tokens:
            if token["user"]["name"] in names:
                token["useCount"] = float("inf")
        return jsonify(settings)


class QuietHandler(WSGIRequestHandler):
    # Keeps connections open, as real servers do.
    protocol_version = "HTTP/1.1"

    def log_request(self, *arguments):
        pass

    def date_time_string(self, timestamp=None):
        return super().date_time_string((timestamp or time.time()) + settings["lead"])


if __name__ == "__main__":
    listener = make_server("127.0.0.1", 0, app, threaded=True, request_handler=QuietHandler)
    address = f"http://127.0.0.1:{listener.port}"
    logins.add(sys.modules[__name__], address)
    print(address, flush=True)
    listener.serve_forever()
