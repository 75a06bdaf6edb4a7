"""Logins with a browser and a code (RFC 6749, 7636), logins on another device (RFC 8628), identity
tokens (OpenID Connect), revocation (RFC 7009), and the server's metadata (RFC 8414).

    GET  /authorize              a page with the fields "user" and "password" and the buttons
                                 "allow" and "deny"
    GET  /device                 the same with the field "code"
    POST /revoke                 revokes an access or refresh token
    GET  /.well-known/…          the metadata, at both well-known paths
    POST /test/settings          named=0: answers do not name the issuer (RFC 9207),
                                 named=2: they name another one
                                 interval=S, duration=S: how often, and how long, devices may poll
                                 slow=N: the next N polls of devices are too frequent
                                 openid=1: the metadata is only at the path of OpenID Connect
                                 stranger=1: identity tokens are another person's
    GET  /test/counts            logins, codesRefused, revocations, questions
"""

import time

from authlib.oauth2 import OAuth2Error
from authlib.oauth2.rfc6749 import AuthorizationCodeMixin, grants
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8628 import (
    DeviceAuthorizationEndpoint,
    DeviceCodeGrant,
    DeviceCredentialDict,
)
from authlib.oauth2.rfc9207 import IssuerParameter
from authlib.oidc.core.grants import OpenIDCode
from flask import jsonify, render_template_string, request
from joserfc.jwk import ECKey

PAGE = """<!doctype html><title>Log in</title><form method="post">
{% if asksCode %}
<input id="code" name="code" value="{{ request.args.get('user_code', '') }}">
{% endif %}
<input id="user" name="user"><input id="password" name="password" type="password">
<button id="allow" name="answer" value="allow">Allow</button>
<button id="deny" name="answer" value="deny">Deny</button></form>"""

codes = {}
devices = {}
answers = {}


def add(server, address):
    issuer = address
    settings, counts, lock = server.settings, server.counts, server.lock
    settings.update(named=1, interval=5, duration=1800, slow=0, openid=0, stranger=0)
    counts.update(logins=0, codesRefused=0, revocations=0, questions=0)

    class Code(dict, AuthorizationCodeMixin):
        code_challenge = property(lambda self: self["challenge"])
        code_challenge_method = property(lambda self: self["method"])

        def get_redirect_uri(self):
            return self["redirect_uri"]

        def get_scope(self):
            return self["scope"]

        def get_nonce(self):
            return self["nonce"]

        def get_auth_time(self):
            return self["auth_time"]

        def get_acr(self):
            return None

        def get_amr(self):
            return None

    def now():
        return int(time.time()) + settings["lead"]

    class Identity(OpenIDCode):
        key = ECKey.generate_key("P-256")

        def exists_nonce(self, nonce, oauth_request):
            return any(code["nonce"] == nonce for code in codes.values())

        def resolve_client_private_key(self, client):
            return self.key

        def get_client_algorithm(self, client):
            return "ES256"

        def get_client_claims(self, client):
            return {"iss": issuer, "aud": [client.get_client_id()], "iat": now(), "exp": now() + 60}

        def generate_user_info(self, user, scope):
            name = "stranger" if settings["stranger"] else user["name"]
            return {"sub": name, "email": name + "@mail.example", "email_verified": True}

    class CodeGrant(grants.AuthorizationCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

        def save_authorization_code(self, code, oauth_request):
            sent = oauth_request.payload
            codes[code] = Code(
                redirect_uri=sent.redirect_uri,
                scope=sent.scope,
                user=oauth_request.user,
                nonce=sent.data.get("nonce"),
                auth_time=now(),
                challenge=sent.data.get("code_challenge"),
                method=sent.data.get("code_challenge_method"),
            )

        def query_authorization_code(self, code, client):
            # A code can be used once, even if the verifier is wrong.
            found = codes.pop(code, None)
            counts["codesRefused"] += found is None
            return found

        def delete_authorization_code(self, authorization_code):
            pass

        def authenticate_user(self, authorization_code):
            return authorization_code["user"]

    class Proof(CodeChallenge):
        def validate_code_verifier(self, grant, result):
            try:
                super().validate_code_verifier(grant, result)
            except OAuth2Error:
                counts["codesRefused"] += 1
                raise

    class Issuer(IssuerParameter):
        def get_issuer(self):
            return [None, issuer, "https://other.example"][settings["named"]]

    class DeviceGrant(DeviceCodeGrant):
        TOKEN_ENDPOINT_AUTH_METHODS = ["none"]

        def query_device_credential(self, device_code):
            counts["questions"] += 1
            return devices.get(device_code)

        def query_user_grant(self, user_code):
            return answers.get(user_code)

        def should_slow_down(self, credential):
            settings["slow"] -= 1
            return settings["slow"] >= 0

    class DeviceEndpoint(DeviceAuthorizationEndpoint):
        CLIENT_AUTH_METHODS = ["none"]
        EXPIRES_IN = property(lambda self: settings["duration"])
        INTERVAL = property(lambda self: settings["interval"])

        def get_verification_uri(self):
            return issuer + "/device"

        def save_device_credential(self, client_id, scope, data):
            devices[data["device_code"]] = DeviceCredentialDict(
                client_id=client_id,
                scope=scope,
                expires_at=time.time() + data["expires_in"],
                **data,
            )

    class Revocation(RevocationEndpoint):
        CLIENT_AUTH_METHODS = ["none"]

        def query_token(self, token, token_type_hint):
            return server.find("access_token", token) or server.find("refresh_token", token)

        def revoke_token(self, token, oauth_request):
            counts["revocations"] += 1
            token["isRevoked"] = True

    authorization = server.server
    server.identities.append(Identity())
    authorization.register_grant(CodeGrant, [Proof(required=True), Identity()])
    authorization.register_grant(DeviceGrant, [Identity()])
    authorization.register_extension(Issuer())
    authorization.register_endpoint(DeviceEndpoint)
    authorization.register_endpoint(Revocation)
    app = server.app

    def user():
        """Returns the user who logged in, or None after "deny" or a wrong password."""
        isKnown = request.form.get("password") == "open sesame"
        if request.form["answer"] != "allow" or not isKnown:
            return None
        counts["logins"] += 1
        return {"name": request.form["user"], "family": f"login {counts['logins']}"}

    @app.get("/authorize")
    def ask():
        with lock:
            try:
                authorization.get_consent_grant(end_user=None)
            except OAuth2Error as error:
                return jsonify(dict(error.get_body())), 400
            return render_template_string(PAGE)

    @app.post("/authorize")
    def decide():
        with lock:
            return authorization.create_authorization_response(grant_user=user())

    @app.post("/device_authorization")
    def begin():
        with lock:
            return authorization.create_endpoint_response("device_authorization")

    @app.get("/device")
    def ask_device():
        return render_template_string(PAGE, asksCode=True)

    @app.post("/device")
    def decide_device():
        with lock:
            person = user()
            answers[request.form["code"]] = (person, person is not None)
            return "<!doctype html><title>Done</title><p>Go back to the other device."

    @app.post("/revoke")
    def revoke():
        with lock:
            return authorization.create_endpoint_response("revocation")

    def description():
        return jsonify(
            issuer=issuer,
            authorization_endpoint=issuer + "/authorize",
            token_endpoint=issuer + "/token",
            device_authorization_endpoint=issuer + "/device_authorization",
            revocation_endpoint=issuer + "/revoke",
            response_types_supported=["code"],
            code_challenge_methods_supported=["S256"],
            authorization_response_iss_parameter_supported=settings["named"] != 0,
        )

    @app.get("/.well-known/oauth-authorization-server")
    def describe():
        return ("<!doctype html>Not found", 404) if settings["openid"] else description()

    @app.get("/.well-known/openid-configuration")
    def describe_openid():
        return description()
