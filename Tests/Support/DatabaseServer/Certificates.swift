import Foundation
import SessionToolsTestSupport

/// An authority of the tests' own, and a server's certificate from it for `localhost`.
package struct Certificates: Sendable {
  private let directory: String

  /// Makes keys and certificates in a directory that does not exist.
  package init(in directory: String) async throws {
    self.directory = directory
    try await KeptProgram.run("/bin/mkdir", ["--mode=0700", directory])
    try await make("authority", name: "Authority of tests", [])
    try await make(
      "server", name: "localhost",
      [
        "-CA", authority, "-CAkey", "\(directory)/authority.key",
        "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1",
        "-addext", "basicConstraints=critical,CA:false",
      ])
  }

  /// The authority's certificate, for `sslrootcert`.
  package var authority: String { "\(directory)/authority.crt" }
  var certificate: String { "\(directory)/server.crt" }
  var key: String { "\(directory)/server.key" }

  private func make(_ file: String, name: String, _ options: [String]) async throws {
    try await KeptProgram.run(
      "/usr/bin/openssl",
      [
        "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
        "-days", "2", "-subj", "/CN=\(name)", "-keyout", "\(directory)/\(file).key",
        "-out", "\(directory)/\(file).crt",
      ] + options)
  }
}
