import Foundation
import LinuxAuthentication
import SessionToolsTestSupport

/// A directory of PAM services for one test.
final class PAMServices: Sendable {
  private let directory: TemporaryDirectory
  /// The path of the directory.
  var path: String { directory.path }

  init() throws {
    directory = try TemporaryDirectory.readableByAll()
  }

  /// A path in the directory.
  subscript(name: String) -> String { directory[name] }

  /// Adds a service.
  ///
  /// - Returns: Its name.
  @discardableResult
  func add(_ name: String, _ rules: String...) throws -> String {
    try directory.write(rules.joined(separator: "\n") + "\n", to: name)
    return name
  }

  /// Adds a service, "matrix", whose only account is this process's, with a password.
  @discardableResult
  func addMatrix(password: String = "right") throws -> String {
    try Data("\(NSUserName()):\(password):matrix\n".utf8).write(to: URL(filePath: self["passdb"]))
    let module = try Self.module("pam_wrapper/pam_matrix.so")
    return try add(
      "matrix", "auth required \(module) passdb=\(self["passdb"])",
      "account required \(module) passdb=\(self["passdb"])")
  }

  /// Returns an authenticator with one of the services.
  func authenticator(_ service: String, _ prompt: ScriptedPrompt) -> PAMAuthenticator {
    PAMAuthenticator(service: service, configurationDirectory: path, prompt: prompt)
  }

  /// Adds a service, "asking", with the module in `Tests/Services/PAMModule`, which is compiled
  /// first.
  func addAsking(_ what: String) async throws {
    try await compile("PAMModule/pam_asking.c", to: "pam_asking.so", "-lpam")
    try add(
      "asking", "auth required \(self["pam_asking.so"]) \(what)", "account required pam_permit.so")
  }

  /// Makes a shared library of a file in `Tests/Services`.
  func compile(_ source: String, to name: String, _ libraries: String...) async throws {
    try await Program.run(
      "/usr/bin/cc",
      [
        "-shared", "-fPIC", "-D_GNU_SOURCE", "-o", self[name],
        "\(SourceDirectory.path)/Tests/Services/\(source)",
      ] + libraries, environment: ["PATH": "/usr/bin:/bin"])
  }

  struct MissingModule: Error {
    let name: String
    let remedy = "Tests/run installs it"
  }

  /// Returns the path of a module that libpam does not find by its name.
  static func module(_ name: String) throws -> String {
    let libraries = try FileManager.default.contentsOfDirectory(atPath: "/usr/lib")
    let paths = ["/usr/lib"] + libraries.map { "/usr/lib/\($0)" }
    guard
      let path = paths.map({ "\($0)/\(name)" }).first(where: FileManager.default.fileExists)
    else { throw MissingModule(name: name) }
    return path
  }
}
