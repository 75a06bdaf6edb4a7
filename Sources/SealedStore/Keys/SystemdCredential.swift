import Foundation
public import SecretStores

/// A credential of exactly 32 bytes that systemd hands to a service
/// (`LoadCredentialEncrypted=NAME`), found in `$CREDENTIALS_DIRECTORY`.
public struct SystemdCredential: KeySource, SlotMaker {
  /// The credential's name.
  public let name: String
  private let directory: String?

  /// Names a credential, which is read each time a store is opened with it.
  public init(_ name: String) {
    self.init(name, directory: ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"])
  }

  package init(_ name: String, directory: String?) {
    self.name = name
    self.directory = directory
  }

  /// Returns the credential's key for every raw key slot, whatever its label.
  ///
  /// - Throws: `keyMissing` when the service was given no such credential,
  ///   `unsafePermissions` when the world could read it, `invalidKey` when it does not have exactly
  ///   32 bytes, `invalidName` when the name is not a credential's name, or `io`.
  public func wrappingKey(for slot: KeySlot.Parameters) throws(StoreError) -> WrappingKey? {
    guard case .rawKey = slot else { return nil }
    return try key(for: .opening)
  }

  /// Returns a raw key slot labeled with the credential's name.
  ///
  /// - Throws: As ``wrappingKey(for:)``.
  public func makeSlot() throws(StoreError) -> (parameters: KeySlot.Parameters, key: WrappingKey) {
    (.rawKey(label: "systemd credential \(name)"), try key(for: .newSlot))
  }

  private func key(for use: WrappingKey.Use) throws(StoreError) -> WrappingKey {
    // systemd.exec(5): names are file names, so a slash would leave the directory.
    guard !name.isEmpty, !name.contains("/"), name != ".", name != ".." else {
      throw StoreError(
        .invalidName, store: "systemd credential",
        reason: "'\(name)' is not the name of a credential")
    }
    guard let directory, !directory.isEmpty else {
      throw StoreError(
        .keyMissing, store: "systemd credential \(name)",
        reason: "CREDENTIALS_DIRECTORY is not set",
        remedy: "Run this as a service with LoadCredentialEncrypted=\(name)")
    }
    let path = "\(directory)/\(name)"
    return try WrappingKey(
      SecretFile.read(path, maximumByteCount: Sodium.keyByteCount, rule: .credential),
      from: path, for: use)
  }
}
