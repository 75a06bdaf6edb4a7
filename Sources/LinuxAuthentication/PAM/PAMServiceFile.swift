import Foundation
import SessionAuthentication

/// The file that names the modules of a service.
///
/// libpam uses the service `other` where a service has no file, or the file lacks rules of a kind.
/// The modules of `other` are unknown here, so these cases are errors.
struct PAMServiceFile: Sendable {
  /// The directories that libpam searches.
  static let standardDirectories = ["/etc/pam.d", "/usr/lib/pam.d"]

  let service: String
  /// The only directory to search, if one is set.
  let directory: String?

  private var directories: [String] { directory.map { [$0] } ?? Self.standardDirectories }

  /// Checks that the file exists and is complete.
  ///
  /// - Throws: `misconfigured`.
  func check() throws(AuthenticationError) {
    guard !service.isEmpty, !service.contains("/"), !service.contains("\0") else {
      throw AuthenticationError(
        .misconfigured, "\"\(service)\" cannot be the name of a PAM service",
        remedy: "Use a name without a slash")
    }
    // libpam converts the name to lower case before it searches.
    let names = directories.map { "\($0)/\(service.lowercased())" }
    guard let path = names.first(where: FileManager.default.fileExists) else {
      throw AuthenticationError(
        .misconfigured,
        "there is no PAM service \"\(service)\" in \(directories.joined(separator: " or "))",
        remedy: remedy)
    }
    guard let content = FileManager.default.contents(atPath: path) else {
      throw AuthenticationError(
        .misconfigured, "\(path) cannot be read",
        remedy: "Make it readable for all users")
    }
    let kinds = Self.kinds(in: String(decoding: content, as: UTF8.self))
    for kind in ["auth", "account"] where !kinds.contains(kind) {
      throw AuthenticationError(
        .misconfigured, "\(path) has no rule of the kind \"\(kind)\"",
        remedy: remedy)
    }
  }

  private var remedy: String {
    let lines = Self.example.split(separator: "\n").joined(separator: "\" and \"")
    return "Install \(directories[0])/\(service.lowercased()) with the lines \"\(lines)\""
  }

  /// A service's file that asks the same as a login on this machine.
  static var example: String {
    // Fedora's and Arch's name for it if it exists, or else Debian's and SUSE's.
    let login =
      standardDirectories.contains { FileManager.default.fileExists(atPath: "\($0)/system-auth") }
      ? "system-auth" : nil
    return """
      auth include \(login ?? "common-auth")
      account include \(login ?? "common-account")

      """
  }

  /// Returns the kinds of rules that a file has; Debian's `@include` may contain any kind.
  private static func kinds(in content: String) -> Set<String> {
    var kinds: Set<String> = []
    for line in content.split(separator: "\n") {
      guard let word = line.split(whereSeparator: \.isWhitespace).first else { continue }
      // A dash means that the rule is silently skipped when its module is missing.
      let kind = word.lowercased().drop { $0 == "-" }
      kinds.formUnion(kind == "@include" ? ["auth", "account"] : [String(kind)])
    }
    return kinds
  }
}
