import Foundation
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// What the tool says when a server cannot be reached, with real servers, certificates and proxies.
@Suite(.onOwnThread) struct `the cause of a failed request` {
  private let tool: Tool
  private let server: Child
  private let output: ClosedPipe
  private let ports: [Int]
  private let certificates: String

  init() throws {
    tool = try Tool()
    try tool.run("session-tools init store")
    output = try ClosedPipe()
    certificates = tool["certificates"]
    try FileManager.default.createDirectory(
      atPath: certificates, withIntermediateDirectories: false)
    server = try Child(
      "/usr/bin/python3",
      ["\(SourceDirectory.path)/Tests/Services/TrustedServer/server.py", certificates],
      environment: ["PATH": "/usr/bin:/bin"], output: output.writer.fileDescriptor)
    try output.writer.close()
    let line = String(decoding: output.reader.availableData, as: UTF8.self)
    ports = line.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    try #require(ports.count == 7, "\(line)")
  }

  /// The ports of a trusted server, an expired one, one of another name, and four proxies.
  private enum Port: Int {
    case good, expired, other, proxyWithPassword, refusingProxy, lostProxy, brokenProxy
  }

  private func address(_ port: Port) -> String { "https://localhost:\(ports[port.rawValue])" }

  private func proxy(_ port: Port) -> String { "http://127.0.0.1:\(ports[port.rawValue])" }

  private func expect(
    _ issuer: String, _ environment: [String: String] = [:], _ status: Int32, _ texts: [String],
    sourceLocation: SourceLocation = #_sourceLocation
  ) throws {
    let outcome = try tool.run(
      "session-tools login --issuer '\(issuer)' --client-id app --store store --service mail",
      environment: environment)
    #expect(
      outcome.status == status, "\(issuer), \(environment): \(outcome.complaint)",
      sourceLocation: sourceLocation)
    for text in texts {
      #expect(
        outcome.complaint.contains(text), "\(text) in \(outcome.complaint)",
        sourceLocation: sourceLocation)
    }
    #expect(
      !outcome.complaint.contains("requires its own login"), sourceLocation: sourceLocation)
  }

  @Test func `is told apart, with the server's name`() throws {
    defer { server.kill() }
    try expect(
      "https://does-not-exist.invalid", [:], 11,
      ["the name of does-not-exist.invalid was not found"])
    // Nothing listens there.
    try expect(
      "https://127.0.0.1:9", [:], 11, ["127.0.0.1:9 could not be reached: Connection refused"])
    try expect("https://[::1]:9", [:], 11, ["[::1]:9 could not be reached"])
    // A proxy without TLS.
    try expect(
      proxy(.lostProxy).replacing("http:", with: "https:"), [:], 1,
      ["no secure connection to 127.0.0.1:", "wrong version number"])
    try expect(
      "http://127.0.0.1:9", [:], 11, ["127.0.0.1:9 could not be reached: Connection refused"])
  }

  @Test func `is the certificate, unless the environment has its authority as for curl`() throws {
    defer { server.kill() }
    let (authority, hashed) = ("\(certificates)/authority.pem", "\(certificates)/hashed")
    let good = address(.good)
    let untrusted = ["the certificate of localhost", "is not trusted: ", "SSL_CERT_FILE"]
    try expect(good, [:], 1, untrusted + ["issuer certificate"])
    // The server has no metadata; the certificate is trusted.
    let trusted = "has no metadata"
    try expect(good, ["SSL_CERT_FILE": authority], 1, [trusted])
    try expect(good, ["CURL_CA_BUNDLE": authority], 1, [trusted])
    try expect(good, ["SSL_CERT_DIR": hashed], 1, [trusted])
    try expect(good, ["SSL_CERT_DIR": "/nowhere", "SSL_CERT_FILE": authority], 1, [trusted])
    try expect(good, ["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": authority], 1, [trusted])
    // curl prefers its own variable.
    let system = "/etc/ssl/certs/ca-certificates.crt"
    try expect(good, ["CURL_CA_BUNDLE": system, "SSL_CERT_FILE": authority], 1, untrusted)
    try expect(
      good, ["SSL_CERT_FILE": "/nowhere.pem"], 1, ["what SSL_CERT_FILE names cannot be read"])
    let known = ["SSL_CERT_FILE": authority]
    try expect(address(.expired), known, 1, ["is not trusted: certificate has expired", "clock"])
    try expect(address(.other), known, 1, ["is not trusted: ", "localhost"])
  }

  @Test(arguments: ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
  func `is the proxy, with the variable that names it`(_ variable: String) throws {
    defer { server.kill() }
    let good = address(.good)
    func expectProxy(_ proxy: String, _ status: Int32, _ texts: [String]) throws {
      try expect(good, [variable: proxy], status, texts + ["from \(variable))"])
    }
    try expectProxy(
      proxy(.proxyWithPassword), 1,
      ["127.0.0.1:\(ports[3]), ", "asks for a user and a password", "percent-encoded"])
    try expectProxy(proxy(.refusingProxy), 1, ["answered with status 403"])
    try expectProxy(proxy(.lostProxy), 11, ["answered with status 502"])
    // Nothing listens there.
    try expectProxy("http://127.0.0.1:9", 11, ["could not be reached: Connection refused"])
    try expectProxy("127.0.0.1:9", 11, ["could not be reached: Connection refused"])
    try expectProxy("http://does-not-exist.invalid:3128", 11, ["was not found"])
    let secret = try tool.run(
      "session-tools login --issuer \(good) --client-id app --store store --service mail",
      environment: [variable: "http://user:pa55@127.0.0.1:9"])
    #expect(!secret.complaint.contains("pa55"))
    // A secret in what libcurl says, or in what only looks like a host and a port.
    for value in [
      "foo://user:pa55@127.0.0.1:9", "http://user:pa55@[::1", "http://user:55/pa55@127.0.0.1:9",
      "http://55#pa55@127.0.0.1:9", "http://user:55@pa55@127.0.0.1:9", "http://127.0.0.1:70000",
      "pa55 word",
    ] {
      try expectProxy(value, 1, ["the proxy"])
      let secret = try tool.run(
        "session-tools login --issuer \(good) --client-id app --store store --service mail",
        environment: [variable: value])
      #expect(!secret.complaint.contains("55,") && !secret.complaint.contains("pa55"))
    }
    // A proxy that speaks something else, or is not trusted.
    try expectProxy(
      "https://127.0.0.1:\(ports[3])", 1, ["the proxy (127.0.0.1:\(ports[3])", "did not connect"])
    try expectProxy(
      good, 1, ["the proxy (localhost:\(ports[0])", "issuer certificate", "and SSL_CERT_FILE if"])
    // One that does not answer is asked once, not for each place of the metadata.
    try FileManager.default.removeItem(atPath: "\(certificates)/connections")
    try expectProxy(proxy(.brokenProxy), 11, ["did not connect"])
    let connections = try String(contentsOfFile: "\(certificates)/connections", encoding: .utf8)
    #expect(connections == "localhost:\(ports[0])\n")
    // What no proxy is asked for is not blamed on one.
    try expect(
      good, [variable: "http://127.0.0.1:9", "NO_PROXY": "localhost"], 1, ["is not trusted: "])
  }
}
