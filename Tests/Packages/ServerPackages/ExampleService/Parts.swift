import AsyncHTTPClient
import Configuration
import DatabaseStore
import Foundation
import Hummingbird
import OAuthLogin
import SealedStore
import SessionServiceAdapters
import SessionToolsAsyncHTTPClient
import SessionToolsBase
import SessionToolsHummingbird

/// What the routes use, as the environment configures it.
struct Parts: Sendable {
  let store: any SecretStore
  let secrets: Secrets
  let http: AsyncOAuthHTTPClient
  let api: HTTPClient
  let login: WebServiceLogin
  let accounts: UserAccounts<OAuthCredential>
  let persist: SecretStorePersistDriver
  let publicAddress: String
  let apiAddress: String

  init(_ configuration: ConfigReader, _ database: DatabaseURL?) async throws {
    let key = MountedKeyFile(try configuration.requiredString(forKey: "storeKeyFile"))
    let issuer = try configuration.requiredString(forKey: "issuer")
    let clientID = try configuration.requiredString(forKey: "clientID")
    publicAddress = try configuration.requiredString(forKey: "publicAddress")
    apiAddress = try configuration.requiredString(forKey: "apiAddress")
    let opened: any SecretStore =
      if let database {
        try SealedDatabaseStore.open(url: database, key: key)
      } else {
        try Self.fileStore(at: try configuration.requiredString(forKey: "store"), key: key)
      }
    let store = ObservedStore(opened, measuring: StoreMetrics(of: "accounts"))
    self.store = store
    secrets = try await Secrets(in: store)
    persist = SecretStorePersistDriver(store, namespace: "com.example.cookies")
    // The last that is made, because they must be shut down.
    (http, api) = (AsyncOAuthHTTPClient(), HTTPClient())
    let client = OAuthClient(issuer: issuer, clientID: clientID, http: http)
    login = try WebServiceLogin(
      client: client, redirectAddress: "\(publicAddress)/callback",
      scopes: ["openid", "offline_access"], key: secrets.loginKey)
    accounts = try UserAccounts(
      container: StoreContainer<OAuthCredential>(store, service: "com.example.accounts"),
      storageIdentifier: "login", refresher: client.refresher())
  }

  func shutdown() async throws {
    try await http.shutdown()
    try await api.shutdown()
  }

  private static func fileStore(at path: String, key: MountedKeyFile) throws -> SealedFileStore {
    let exists = try SealedFileStore.exists(at: path)
    return try exists ? .open(at: path, key: key) : .create(at: path, key: key)
  }
}

/// Keys of the service's own, which are made once and then in the store, for all instances.
struct Secrets: Sendable {
  let loginKey: SecretBytes
  let logKey: SecretBytes

  init(in store: some SecretStore) async throws {
    loginKey = try await Self.key("login", in: store)
    logKey = try await Self.key("log", in: store)
  }

  private static func key(_ name: String, in store: some SecretStore) async throws -> SecretBytes {
    let name = try ItemName(name, in: "com.example.keys")
    return try await store.withExclusiveAccess(to: name, timeout: .seconds(30)) {
      if let key = try await store.value(for: name) { return key }
      let key = RawKey.random()
      try await store.put(key, for: name)
      return key
    }
  }
}
