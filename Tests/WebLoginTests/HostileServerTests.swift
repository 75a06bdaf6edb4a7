import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// `session-tools` with an authorization server that may answer anything.
@Suite(.onOwnThread) struct `the command line at a hostile server` {
  /// A server at which a login on another device works at once.
  ///
  /// `GET /set/KIND` sets what it answers after that; a kind that begins with "metadata-" sets the
  /// answer to the request for the server's metadata.
  private static let script = """
    import http.server, json
    CREDENTIAL = '"access_token":"b","token_type":"Bearer","refresh_token":"r","expires_in":0.001'
    SIZE = (1 << 18) - 300
    def pieces(kind):
        if kind == "zeros":
            return "[" + "0," * (SIZE // 2) + "0]"
        if kind == "arrays":
            return "[" + "[]," * (SIZE // 3) + "0]"
        if kind == "depths":
            return "[" * SIZE
        if kind == "keys":
            keys = ",".join(f'"{number:x}":0' for number in range(SIZE // 9))
            return "{" + keys + "," + CREDENTIAL + "}"
        if kind == "scopes":
            return "{" + CREDENTIAL + ',"scope":"' + "a " * (SIZE // 2 - 100) + '"}'
        if kind == "methods":
            methods = ",".join(['"a"'] * (SIZE // 4))
            return '{"issuer":"x","code_challenge_methods_supported":[' + methods + "]}"
        return "{" + CREDENTIAL + "}"
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        kind = "good"
        def reply(self, text):
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text.encode())
        def answer(self):
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            address = "http://127.0.0.1:%d" % self.server.server_port
            kind = Handler.kind.removeprefix("metadata-")
            if self.path.startswith("/set/"):
                Handler.kind = self.path[5:]
                return self.reply("")
            if self.path == "/device":
                return self.reply(json.dumps({
                    "device_code": "d", "user_code": "U", "expires_in": 60, "interval": 1,
                    "verification_uri": address}))
            if self.path.startswith("/.well-known") and kind == Handler.kind:
                return self.reply(json.dumps({
                    "issuer": address, "token_endpoint": address + "/token",
                    "device_authorization_endpoint": address + "/device",
                    "revocation_endpoint": address + "/revoke"}))
            if kind in ("endless", "declared", "fields"):
                return self.send_without_end(kind)
            self.reply(pieces(kind))
        def send_without_end(self, kind):
            self.close_connection = True
            self.send_response(200)
            if kind == "declared":
                self.send_header("Content-Length", str(4 << 30))
            if kind == "endless":
                self.send_header("Transfer-Encoding", "chunked")
            (self.flush_headers if kind == "fields" else self.end_headers)()
            piece = {"declared": b"x" * 65536, "endless": b"10000\\r\\n" + b"x" * 65536 + b"\\r\\n",
                     "fields": b"X-Field: " + b"x" * 8000 + b"\\r\\n"}[kind]
            try:
                for _ in range((4 << 30) // len(piece)):
                    self.wfile.write(piece)
            except OSError:
                pass
        do_GET = do_POST = answer
        def log_message(self, *arguments): pass
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
    """

  /// Runs a program, and prints on standard error how many kibibytes it had in memory at most.
  private static let measured = """
    import os, resource, subprocess, sys
    status = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode
    print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, file=sys.stderr)
    sys.exit(status)
    """

  private let tool: Tool
  private let server: Child
  private let output: ClosedPipe
  private let address: String

  init() throws {
    tool = try Tool()
    output = try ClosedPipe()
    server = try Child(
      "/usr/bin/python3", ["-u", "-c", Self.script], environment: [:],
      output: output.writer.fileDescriptor)
    try output.writer.close()
    let port = String(decoding: output.reader.availableData, as: UTF8.self)
    address = "http://127.0.0.1:\(port.trimmingCharacters(in: .newlines))"
  }

  private func run(_ command: String) throws -> (status: Int32, kibibytes: Int, said: String) {
    let outcome = try tool.run("python3 -c '\(Self.measured)' session-tools \(command)")
    var lines = outcome.complaint.split(separator: "\n").map(String.init)
    let kibibytes = try #require(lines.popLast().flatMap { Int($0) }, "\(outcome.complaint)")
    return (outcome.status, kibibytes, lines.joined(separator: "\n"))
  }

  private let token = "token --store store --service mail"

  private var login: String {
    "login --device --issuer \(address) --client-id app --store store --service mail"
  }

  private func signIn() throws {
    try tool.run("session-tools init store")
    try #require(try run(login).status == 0)
  }

  private func answer(_ kind: String) throws {
    let url = try #require(URL(string: "\(address)/set/\(kind)"))
    _ = try Data(contentsOf: url)
  }

  @Test(.enabled(if: !isSanitized, "a sanitizer takes memory of its own"))
  func `takes less than 64 MiB of memory`() throws {
    defer { server.kill() }
    try signIn()
    var (most, whatTookMost) = (0, "")
    func check(_ command: String, _ kind: String, _ status: Int32) throws {
      try answer(kind)
      let outcome = try run(command)
      #expect(outcome.status == status, "\(command), \(kind): \(outcome.said)")
      #expect(outcome.kibibytes < 64 << 10, "\(command), \(kind)")
      if outcome.kibibytes > most {
        (most, whatTookMost) = (outcome.kibibytes, "\(command), \(kind)")
      }
    }
    for kind in ["endless", "declared", "fields"] {
      try check(token, kind, 1)
      try check(login, "metadata-\(kind)", 1)
    }
    for kind in ["zeros", "arrays", "depths", "methods"] {
      try check(login, "metadata-\(kind)", 1)
    }
    try check(token, "zeros", 1)
    // A login is refused, and a refresh keeps the token.
    try check(login, "scopes", 1)
    try check(token, "scopes", 0)
    // Valid answers, which are stored and read again.
    for kind in ["keys", "good"] { try check(token, kind, 0) }
    try check("logout --store store --service mail", "endless", 1)
    print("session-tools took \(most) KiB at most: \(whatTookMost)")
  }

  /// Requests without encryption may only be sent to this machine, and a proxy is another one.
  @Test func `sends nothing without encryption to a proxy`() throws {
    defer { server.kill() }
    try signIn()
    // Nothing listens there.
    let proxy = ["http_proxy": "http://127.0.0.1:9", "all_proxy": "http://127.0.0.1:9"]
    let outcome = try tool.run("session-tools \(token)", environment: proxy)
    #expect(outcome.status == 0 && outcome.text == "b\n", "\(outcome.complaint)")
  }
}
