"""A token endpoint for a crowd: each user has one refresh token, which can be used once.

A token is spent when its request arrives; the answer follows after a delay, the argument in
seconds. A token that is used again revokes the user's current one. The server prints its address.
`GET /counts` returns the numbers of requests, `GET /tokens` the current refresh token of each user,
and `GET /revoked` the users whose token was revoked.
"""

import asyncio
import json
import sys
import urllib.parse


class Server:
    def __init__(self, delay: float):
        self.delay = delay
        self.current: dict[str, int] = {}
        self.revoked: set[str] = set()
        self.counts = {"received": 0, "answered": 0, "reused": 0}

    def token_answer(self, form: str) -> tuple[int, dict]:
        token = urllib.parse.parse_qs(form).get("refresh_token", [""])[0]
        _, user, number = token.split("-")
        self.counts["received"] += 1
        if user in self.revoked or int(number) != self.current.get(user, 0):
            self.counts["reused"] += 1
            self.revoked.add(user)
            return 400, {"error": "invalid_grant"}
        self.current[user] = int(number) + 1
        return 200, {
            "access_token": f"access-{user}-{self.current[user]}", "token_type": "Bearer",
            "expires_in": 3600, "refresh_token": f"refresh-{user}-{self.current[user]}"}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            fields = dict(
                line.lower().split(": ", 1) for line in head.split("\r\n")[1:] if ": " in line)
            form = (await reader.readexactly(int(fields.get("content-length", 0)))).decode()
            if head.startswith("GET /counts"):
                status, answer = 200, self.counts
            elif head.startswith("GET /tokens"):
                status, answer = 200, {
                    user: f"refresh-{user}-{number}" for user, number in self.current.items()}
            elif head.startswith("GET /revoked"):
                status, answer = 200, sorted(self.revoked)
            else:
                status, answer = self.token_answer(form)
                await asyncio.sleep(self.delay)
                self.counts["answered"] += 1
            body = json.dumps(answer)
            writer.write(
                f"HTTP/1.1 {status} Done\r\nContent-Type: application/json\r\n"
                f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n{body}".encode())
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()


async def main() -> None:
    server = Server(float(sys.argv[1]))
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}", flush=True)
    await listener.serve_forever()


asyncio.run(main())
