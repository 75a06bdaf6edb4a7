package import SecretStores

/// The name of one of Docker's credentials: service `docker`, and `USER@SERVER` as identifier.
///
/// The last `@` ends the user name, which may contain others.
package struct DockerItemName: Hashable, Sendable {
  package let user: String
  /// The registry, as Docker writes it: a URL, or a host with or without a port.
  package let server: String

  package init(user: String, server: String) {
    self.user = user
    self.server = server
  }

  /// Reads the identifier of an item; `nil` if it is not of this form.
  package init?(_ identifier: String) {
    let scalars = identifier.unicodeScalars
    guard let at = scalars.lastIndex(of: "@") else { return nil }
    self.init(
      user: String(scalars[..<at]), server: String(scalars[scalars.index(after: at)...]))
  }

  /// The item's name within the service.
  package var identifier: String { "\(user)@\(server)" }

  /// Whether the identifier is read back as this name; if not, there is an `@` in its server.
  package var isUnambiguous: Bool { Self(identifier) == self }

  /// Returns the full name of the item.
  ///
  /// - Throws: `invalidName` if it is too long.
  package func itemName() throws(StoreError) -> ItemName {
    try ItemName(identifier, in: Self.namespace())
  }

  /// Returns the namespace of Docker's credentials.
  package static func namespace() throws(StoreError) -> StoreNamespace {
    try StoreNamespace(service: "docker")
  }
}
