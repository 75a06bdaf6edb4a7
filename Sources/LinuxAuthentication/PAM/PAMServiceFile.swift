import Foundation
import SessionAuthentication

/// The file that says which modules a service asks.
///
/// libpam goes on with the service `other` where a service has no file, or the file no rules of a
/// kind. What that asks nobody knows, so here it is an error.
struct PAMServiceFile: Sendable {
  /// Where libpam looks.
  static let standardDirectories = ["/etc/pam.d", "/usr/lib/pam.d"]

  let service: String
  /// The only directory to look in, if one is set.
  let directory: String?

  private var directories: [String] { directory.map { [$0] } ?? Self.standardDirectories }

  /// Makes sure that the file is there, and complete.
  ///
  /// - Throws: `misconfigured`.
  func check() throws(AuthenticationError) {
    guard !service.isEmpty, !service.contains("/"), !service.contains("\0") else {
      throw AuthenticationError(
        AuthenticationError.misconfigured, "\"\(service)\" cannot be the name of a PAM service",
        remedy: "Use a name without a slash")
    }
    // libpam makes the name lower-case before it looks.
    let names = directories.map { "\($0)/\(service.lowercased())" }
    guard let path = names.first(where: FileManager.default.fileExists) else {
      throw AuthenticationError(
        AuthenticationError.misconfigured,
        "there is no PAM service \"\(service)\" in \(directories.joined(separator: " or "))",
        remedy: remedy)
    }
    guard let content = FileManager.default.contents(atPath: path) else {
      throw AuthenticationError(
        AuthenticationError.misconfigured, "\(path) cannot be read",
        remedy: "Let everyone read it")
    }
    let kinds = Self.kinds(in: String(decoding: content, as: UTF8.self))
    for kind in ["auth", "account"] where !kinds.contains(kind) {
      throw AuthenticationError(
        AuthenticationError.misconfigured, "\(path) has no rule of the kind \"\(kind)\"",
        remedy: remedy)
    }
  }

  private var remedy: String {
    let lines = Self.example.split(separator: "\n").joined(separator: "\" and \"")
    return "Install \(directories[0])/\(service.lowercased()) with the lines \"\(lines)\""
  }

  /// A service that asks what a login here asks.
  static var example: String {
    // Debian's and SUSE's name for it, or else the one of Fedora and Arch.
    let login =
      standardDirectories.contains { FileManager.default.fileExists(atPath: "\($0)/system-auth") }
      ? "system-auth" : nil
    return """
      auth include \(login ?? "common-auth")
      account include \(login ?? "common-account")

      """
  }

  /// The kinds of rules that a file has; those of Debian's `@include` may be any.
  private static func kinds(in content: String) -> Set<String> {
    var kinds: Set<String> = []
    for line in content.split(separator: "\n") {
      guard let word = line.split(whereSeparator: \.isWhitespace).first else { continue }
      // A dash: the rule is passed over without a word when its module is missing.
      let kind = word.lowercased().drop { $0 == "-" }
      kinds.formUnion(kind == "@include" ? ["auth", "account"] : [String(kind)])
    }
    return kinds
  }
}
