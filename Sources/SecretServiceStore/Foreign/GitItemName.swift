package import SecretStores

/// The name of one of git's credentials: service `git`, and `SCHEME://USER@HOST/PATH` as
/// identifier.
///
/// The parts `USER@` and `/PATH` are left out if the credential has none. A slash or percent sign
/// in a user name is percent-encoded, so that the first slash ends the host: neither a user name
/// nor a path can make the credential one of another host.
package struct GitItemName: Hashable, Sendable {
  /// What git calls the protocol, such as `https`.
  package let scheme: String
  package let user: String?
  /// The host, with its port if that is not the usual one; may be empty.
  package let host: String
  package let path: String?

  /// Names a credential; an empty path counts as absent.
  package init(scheme: String, user: String?, host: String, path: String?) {
    self.scheme = scheme
    self.user = user
    self.host = host
    self.path = path?.isEmpty == true ? nil : path
  }

  /// Reads the identifier of an item; `nil` if it is not of this form.
  package init?(_ identifier: String) {
    let mark = "://".unicodeScalars
    // By scalars: a slash followed by a combining accent is another `Character`.
    let scalars = identifier.unicodeScalars
    guard let start = scalars.firstRange(of: mark), start.lowerBound > scalars.startIndex else {
      return nil
    }
    let rest = scalars[start.upperBound...]
    let slash = rest.firstIndex(of: "/")
    let authority = rest[..<(slash ?? rest.endIndex)]
    let at = authority.lastIndex(of: "@")
    let user = at.map { String(authority[..<$0]) }
    self.init(
      scheme: String(scalars[..<start.lowerBound]),
      // Older versions did not encode.
      user: user.map { PercentEncoding.decode($0) ?? $0 },
      host: String(at.map { authority[authority.index(after: $0)...] } ?? authority),
      path: slash.map { String(rest[rest.index(after: $0)...]) })
  }

  /// The item's name within the service.
  package var identifier: String {
    let user = user.map { PercentEncoding.encode($0) { $0 == "/" || $0 == "%" } + "@" } ?? ""
    return "\(scheme)://\(user)\(host)\(path.map { "/\($0)" } ?? "")"
  }

  /// Whether the identifier is read back as this name; if not, its scheme or host is malformed.
  package var isUnambiguous: Bool { Self(identifier) == self }

  /// Returns the full name of the item.
  ///
  /// - Throws: `invalidName` if it is too long.
  package func itemName() throws(StoreError) -> ItemName {
    try ItemName(identifier, in: Self.namespace())
  }

  /// Returns the namespace of git's credentials.
  package static func namespace() throws(StoreError) -> StoreNamespace {
    try StoreNamespace(service: "git")
  }

  /// Returns whether a credential of this name is wanted by a request, in which a user or a path
  /// may be left open.
  package func matches(_ request: GitItemName) -> Bool {
    isSame(scheme, request.scheme) && isSame(host, request.host)
      && (request.user == nil || isSame(user, request.user))
      && (request.path == nil || isSame(path, request.path))
  }

  /// Byte for byte: for Swift, texts with different bytes may be equal.
  private func isSame(_ part: String?, _ other: String?) -> Bool {
    guard let part, let other else { return part == nil && other == nil }
    return part.utf8.elementsEqual(other.utf8)
  }
}
