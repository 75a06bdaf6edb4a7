import Foundation
import SessionToolsBase
import ToolBase
import WebLogin

/// A login as it is stored: the tokens, and the server and client to refresh them with.
struct StoredLogin: Codable, ExpiringItem, Sendable {
  var credential: OAuthCredential
  let issuer: String
  let clientID: String

  var expirationDate: Date? { credential.expirationDate }

  var client: OAuthClient { OAuthClient(issuer: issuer, clientID: clientID) }
}

/// The storage of one login, and of its pending state until it is finished.
struct LoginStore {
  private let store: any SecretStore
  private let namespace: StoreNamespace
  private let name: String
  private let location: StoreLocation
  private let exclusionTimeout: Duration?

  /// - Parameters:
  ///   - store: The store.
  ///   - namespace: The namespace of the program that logs in.
  ///   - name: The login within it.
  ///   - location: The store, for messages.
  ///   - exclusionTimeout: How long to wait for the refresh of another process.
  init(
    store: any SecretStore, namespace: StoreNamespace, name: String, location: StoreLocation,
    exclusionTimeout: Duration?
  ) {
    self.store = store
    self.namespace = namespace
    self.name = name
    self.location = location
    self.exclusionTimeout = exclusionTimeout
  }

  /// The storage of an unfinished login.
  var pending: PendingLogin.Storage {
    PendingLogin.Storage(
      items(of: PendingLogin.self, store), identifier: "org.session-tools.pending:\(name)")
  }

  /// Returns the session of the login, refreshed by a client.
  func session(_ client: OAuthClient) -> UserSession<StoredLogin> {
    var policy = RefreshPolicy()
    policy.exclusionTimeout = exclusionTimeout
    return UserSession(
      container: items(of: StoredLogin.self, store), storageIdentifier: name,
      refresher: client.refresher(of: \.credential, policy: policy))
  }

  /// Returns the session of the user who is logged in, and the client of that login.
  ///
  /// - Throws: A failure that says to log in if no one is logged in; any error of the store.
  func session() throws -> (UserSession<StoredLogin>, OAuthClient) {
    guard let login = try items(of: StoredLogin.self, store).item(forIdentifier: name) else {
      throw loginNeeded("no one is logged in")
    }
    let client = login.client
    return (session(client), client)
  }

  /// Returns the failure for a missing or invalid login, which says to log in.
  func loginNeeded(_ reason: String) -> Failure {
    Failure(.loginNeeded, "\(location): \(reason). Run session-tools login.")
  }

  private func items<Item: Codable>(
    of type: Item.Type, _ store: some SecretStore
  ) -> StoreContainer<Item> {
    StoreContainer(store, namespace: namespace)
  }
}
