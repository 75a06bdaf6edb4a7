import Foundation
import SecretServiceStore
import SessionToolsBase

/// The credentials of git in a store, under the names that a migration of git's items gives them.
struct GitHelper {
  let open: ItemStore
  /// How long to wait for another helper that changes the same item.
  let timeout: Duration

  private var items: any MigratableStore { open.store }

  /// Returns what git is to be told about a request; `nil` if there is no credential for it.
  ///
  /// A credential for exactly the requested path comes first, then the first user.
  ///
  /// - Throws: Any error of the store, and a usage failure for a malformed request.
  func answer(to request: GitAttributes) throws -> SecretBytes? {
    guard let wanted = try request.name() else { return nil }
    let found = try matching(wanted)
    let exact = found.filter { $0.name.path == wanted.path }
    for (itemName, name) in exact + found.filter({ $0.name.path != wanted.path }) {
      guard let value = try open.value(for: itemName, as: "git-credential") else { continue }
      // Not possible in git's lines, where the rest would be taken for another attribute.
      guard !value.contains(0),
        !(name.user ?? "").unicodeScalars.contains(where: { $0 == "\n" || $0 == "\0" })
      else {
        throw Failure(.failure, "\(open.location): git cannot take \(itemName)")
      }
      let credential = GitAttributes(stored: value)
      let user = name.user.map { [SecretBytes(utf8: "username=\($0)\n")] } ?? []
      if credential["credential"] == nil {
        return SecretBytes(
          joining: user
            + credential.lines(["password", "password_expiry_utc", "oauth_refresh_token"]))
      }
      // Only for a git that says that it understands it.
      guard request.capabilities.contains(Self.capability) else { continue }
      return SecretBytes(
        joining: [SecretBytes(utf8: "capability[]=\(Self.capability)\n")] + user
          + credential.lines([
            "authtype", "credential", "password_expiry_utc", "oauth_refresh_token",
          ]))
    }
    return nil
  }

  /// The one capability of the protocol that is supported: credentials other than a password.
  static let capability = "authtype"

  /// Stores a credential that a server has accepted; does nothing if it is incomplete.
  ///
  /// - Throws: As ``answer(to:)``.
  func store(_ credential: GitAttributes) throws {
    // git-credential(1): a credential that is valid for a short time only is not to be saved.
    let isEphemeral = try ["1", "true"].contains(credential.text("ephemeral"))
    let isComplete =
      credential["authtype"] != nil && credential["credential"] != nil
      || credential["username"] != nil && credential["password"] != nil
    guard !isEphemeral, isComplete, let name = try credential.name() else { return }
    let itemName = try name.itemName()
    try items.withExclusiveAccess(to: itemName, timeout: timeout) {
      // git reports every success, also with a credential that comes from here.
      if let value = try items.value(for: itemName), isKept(value, by: credential) { return }
      try items.put(credential.stored, for: itemName)
    }
  }

  /// Returns whether a stored value need not be changed.
  ///
  /// A git before 2.41 reports no more than the password: the rest stays as long as that does.
  private func isKept(_ value: SecretBytes, by credential: GitAttributes) -> Bool {
    if value == credential.stored { return true }
    let old = GitAttributes(stored: value)
    // Git drops a password whose time is over; one that is accepted without a date was prolonged.
    let expiry = old["password_expiry_utc"]?.copyText().flatMap(Double.init)
    if let expiry, expiry <= Date.now.timeIntervalSince1970 { return false }
    return !credential.hasMoreThanPassword && old["credential"] == nil
      && old["password"] == credential["password"]
  }

  /// Removes the credentials that match a description; if that has a password, only those with
  /// this password.
  ///
  /// - Throws: As ``answer(to:)``.
  func erase(_ description: GitAttributes) throws {
    guard let wanted = try description.name() else { return }
    for (itemName, _) in try matching(wanted) {
      try items.withExclusiveAccess(to: itemName, timeout: timeout) {
        guard let value = try items.value(for: itemName) else { return }
        let stored = GitAttributes(stored: value)
        // Another process may have stored a newer password than the one that was rejected.
        for name in ["password", "credential"] {
          if let rejected = description[name], stored[name] != rejected { return }
        }
        try items.remove(itemName)
      }
    }
  }

  private func matching(
    _ wanted: GitItemName
  ) throws -> [(itemName: ItemName, name: GitItemName)] {
    try items.names(in: GitItemName.namespace()).compactMap { itemName in
      guard let name = GitItemName(itemName.identifier), name.matches(wanted) else { return nil }
      return (itemName, name)
    }
  }
}
