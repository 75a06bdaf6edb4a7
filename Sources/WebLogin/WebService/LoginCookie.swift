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
    let name = Self.name(of: state, isSecure: isSecure)
    setCookie =
      "\(name)=\(value); Path=/; \(isSecure ? "Secure; " : "")HttpOnly; SameSite=Lax; "
      + "Max-Age=\(lifetime)"
  }

  /// Returns the name of the cookie of a login.
  static func name(of state: String, isSecure: Bool) -> String {
    (isSecure ? "__Host-" : "") + "login-"
      + ProofKey.challenge(of: SecretBytes(utf8: state)).prefix(16)
  }

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
