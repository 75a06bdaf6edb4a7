import SessionToolsBase

/// A cookie that ties a login to the browser in which it began (RFC 6265).
///
/// Each login has a cookie of its own, named after a digest of its state, so that several tabs can
/// log in at the same time. Only this service can read it, and no script in the browser gets it. It
/// is sent only by the browser that has it, only over `https`, and not with requests that other
/// sites make, except when they send the person here (`SameSite=Lax`). Its name begins with
/// `__Host-`, so that no other host of the domain can set it.
///
/// For a redirect to plain `http` on the machine itself, for development, it is without `__Host-`
/// and `Secure`: not all browsers accept such a cookie there.
public struct LoginCookie: Sendable {
  /// The most that browsers keep of one cookie (RFC 6265, section 6.1).
  static let maximumByteCount = 4096

  /// The value of the field `Set-Cookie`: at most 4,096 bytes of ASCII.
  ///
  /// Set it beside those of others: each `Set-Cookie` is a field of its own.
  public let setCookie: String

  init(state: String, isSecure: Bool, value: String, lifetime: Int) {
    self.init(
      name: Self.name(of: state, isSecure: isSecure), isSecure: isSecure, value: value,
      lifetime: lifetime)
  }

  private init(name: String, isSecure: Bool, value: String, lifetime: Int) {
    setCookie =
      "\(name)=\(value); Path=/; \(isSecure ? "Secure; " : "")HttpOnly; SameSite=Lax; "
      + "Max-Age=\(lifetime)"
  }

  /// Returns the name of the cookie of a login.
  static func name(of state: String, isSecure: Bool) -> String {
    (isSecure ? "__Host-" : "") + "login-"
      + ProofKey.challenge(of: SecretBytes(utf8: state)).prefix(digestLength)
  }

  /// Returns cookies that remove those of logins, but for the newest ones.
  ///
  /// The closure returns when the login in a cookie began, in seconds since 1970; `nil` if it
  /// cannot be read.
  static func surplus(
    in fields: [String], isSecure: Bool, keeping count: Int, begin: (Substring) -> Int?
  ) -> [LoginCookie] {
    let prefix = isSecure ? "__Host-login-" : "login-"
    var logins: [(name: String, begin: Int)] = []
    for field in fields {
      for pair in field.split(separator: ";") {
        let parts = pair.drop { $0 == " " || $0 == "\t" }.split(
          separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].utf8.starts(with: prefix.utf8),
          parts[0].utf8.count == prefix.utf8.count + digestLength
        else { continue }
        logins.append((String(parts[0]), begin(parts[1]) ?? .min))
      }
    }
    return logins.sorted { $0.begin > $1.begin }.dropFirst(count).map {
      LoginCookie(name: $0.name, isSecure: isSecure, value: "", lifetime: 0)
    }
  }

  private static let digestLength = 16

  /// Returns the values of all cookies with a name (RFC 6265, section 4.2.1).
  static func values(of name: String, in fields: [String]) -> [Substring] {
    fields.flatMap { field in
      field.split(separator: ";").compactMap { pair in
        let pair = pair.drop { $0 == " " || $0 == "\t" }
        guard pair.utf8.starts(with: "\(name)=".utf8) else { return nil }
        return pair.dropFirst(name.count + 1)
      }
    }
  }
}

extension LoginCookie: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A redacted description, without the value.
  public var description: String { "[login cookie]" }
  /// A redacted description, without the value.
  public var debugDescription: String { description }
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}
