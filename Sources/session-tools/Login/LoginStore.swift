import Foundation
import SessionToolsBase
import WebLogin

/// A login as it is kept: the tokens, and whom they are refreshed at.
struct StoredLogin: Codable, Expiring, Sendable {
  var credential: OAuthCredential
  let issuer: String
  let clientID: String

  var expirationDate: Date? { credential.expirationDate }

  var client: OAuthClient { OAuthClient(issuer: issuer, clientID: clientID) }
}

/// Where one login is kept, and meanwhile what is pending of it.
struct LoginStore {
  private let store: any SecretStore
  private let namespace: Namespace
  private let name: String
  private let location: StoreLocation
  private let exclusionTimeout: Duration?

  /// - Parameters:
  ///   - store: The store.
  ///   - namespace: The program that logs in.
  ///   - name: The login within it.
  ///   - location: The store, for messages.
  ///   - exclusionTimeout: How long to wait for the refresh of another process.
  init(
    store: any SecretStore, namespace: Namespace, name: String, location: StoreLocation,
    exclusionTimeout: Duration?
  ) {
    self.store = store
    self.namespace = namespace
    self.name = name
    self.location = location
    self.exclusionTimeout = exclusionTimeout
  }

  /// Where a login that is not finished is kept.
  var pending: PendingLoginPlace {
    PendingLoginPlace(
      items(of: PendingLogin.self, store), identifier: "org.session-tools.pending:\(name)")
  }

  /// The session of the login, refreshed as its client does.
  func session(_ client: OAuthClient) -> UserSession<StoredLogin> {
    var policy = RefreshPolicy()
    policy.exclusionTimeout = exclusionTimeout
    return UserSession(
      container: items(of: StoredLogin.self, store), storageIdentifier: name,
      refresher: client.refresher(of: \.credential, policy: policy))
  }

  /// The session of whoever is logged in, and the client that they are with.
  ///
  /// - Throws: A failure that says to log in when nobody is; what the store throws.
  func session() throws -> (UserSession<StoredLogin>, OAuthClient) {
    guard let login = try items(of: StoredLogin.self, store).item(forIdentifier: name) else {
      throw loginNeeded("nobody is logged in")
    }
    let client = login.client
    return (session(client), client)
  }

  /// What to do when there is no login any more.
  func loginNeeded(_ reason: String) -> Failure {
    Failure(.loginNeeded, "\(location): \(reason). Run session-tools login.")
  }

  private func items<Item: Codable>(
    of type: Item.Type, _ store: some SecretStore
  ) -> StoreContainer<Item> {
    StoreContainer(store, namespace: namespace)
  }
}
