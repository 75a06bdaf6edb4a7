import Foundation
import SecretServiceStore
import SessionToolsBase

/// The credentials of Docker in a store, under the names that a migration of Docker's items gives
/// them.
struct DockerHelper {
  /// A credential as Docker exchanges it with its helpers.
  ///
  /// Foundation makes copies of it that are not wiped.
  private struct Credential: Codable {
    let server: String
    let user: String
    let secret: String

    enum CodingKeys: String, CodingKey {
      case server = "ServerURL"
      case user = "Username"
      case secret = "Secret"
    }
  }

  let open: ItemStore

  private var items: any MigratableStore { open.store }

  /// Returns the credential for a server, as JSON.
  ///
  /// - Throws: Any error of the store, and a failure in Docker's words if it has no credential.
  func get(_ server: String) throws -> String {
    for (itemName, name) in try credentials(for: server) {
      guard let value = try open.value(for: itemName, as: "docker-credential") else { continue }
      guard let secret = value.copyText() else {
        throw Failure(
          .failure, "\(open.location): \(itemName) is not text, and Docker takes only text")
      }
      return try Self.json(Credential(server: server, user: name.user, secret: secret))
    }
    throw Failure(.notFound, "credentials not found in native keychain")
  }

  /// Stores a credential given as JSON, in the place of any other one for its server.
  ///
  /// - Throws: Any error of the store, and a failure, in Docker's words, if it is incomplete.
  func store(_ input: SecretBytes) throws {
    let credential: Credential
    do {
      credential = try JSONDecoder().decode(Credential.self, from: input.sharedData)
    } catch {
      // Without Foundation's error, which may quote what it read.
      throw Failure(.usage, "not a JSON object with ServerURL, Username and Secret")
    }
    guard !credential.server.isEmpty else { throw Self.noServer }
    guard !credential.user.isEmpty else { throw Failure(.usage, "no credentials username") }
    let name = DockerItemName(user: credential.user, server: credential.server)
    guard name.isUnambiguous else {
      throw Failure(.usage, "a server with an @ in it can have no credentials here")
    }
    let itemName = try name.itemName()
    // Docker knows one user for each server, the one that logged in last.
    let others = try credentials(for: credential.server).map(\.itemName).filter { $0 != itemName }
    try items.apply(
      [.put(SecretBytes(utf8: credential.secret), for: itemName)] + others.map(StoreChange.remove))
  }

  /// Removes the credential for a server, if there is one.
  ///
  /// - Throws: Any error of the store.
  func erase(_ server: String) throws {
    try items.apply(credentials(for: server).map { .remove($0.itemName) })
  }

  /// Returns the servers and their users, as JSON.
  ///
  /// - Throws: Any error of the store.
  func list() throws -> String {
    let names = try items.names(in: DockerItemName.namespace()).compactMap {
      DockerItemName($0.identifier)
    }
    return try Self.json(Dictionary(names.map { ($0.server, $0.user) }) { first, _ in first })
  }

  /// Returns the server that the input names.
  ///
  /// - Throws: A failure in Docker's words if it names none.
  static func server(_ input: SecretBytes) throws -> String {
    let text = input.copyText()?.trimmingCharacters(in: .whitespacesAndNewlines) ?? ""
    guard !text.isEmpty else { throw noServer }
    return text
  }

  /// Docker's client knows these words (docker-credential-helpers, credentials/error.go).
  private static let noServer = Failure(.usage, "no credentials server URL")

  private func credentials(
    for server: String
  ) throws -> [(itemName: ItemName, name: DockerItemName)] {
    try items.names(in: DockerItemName.namespace()).compactMap { itemName in
      guard let name = DockerItemName(itemName.identifier), name.server == server else {
        return nil
      }
      return (itemName, name)
    }
  }

  private static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self) + "\n"
  }
}
