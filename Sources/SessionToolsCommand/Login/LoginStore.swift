import SessionToolsBase
import WebLogin

/// The storage of one login, and of its pending state until it is finished.
struct LoginStore {
  private let store: any SecretStore
  private let namespace: StoreNamespace
  private let name: String
  private let location: StoreLocation
  private let options: [String]
  private let exclusionTimeout: Duration?

  /// - Parameters:
  ///   - store: The store.
  ///   - namespace: The namespace of the program that logs in.
  ///   - name: The login within it.
  ///   - location: The store, for messages.
  ///   - options: The options that say how it is opened, for messages.
  ///   - exclusionTimeout: How long to wait for the refresh of another process.
  init(
    store: any SecretStore, namespace: StoreNamespace, name: String, location: StoreLocation,
    options: [String], exclusionTimeout: Duration?
  ) {
    self.store = store
    self.namespace = namespace
    self.name = name
    self.location = location
    self.options = options
    self.exclusionTimeout = exclusionTimeout
  }

  /// Returns the record of who got a token; `nil` if the settings do not ask for one.
  ///
  /// - Throws: As `AccessLog`.
  func accessLog() throws -> AccessLog? { try AccessLog(of: "token", store: location) }

  /// Reads keys of AWS that are items of the service, and records that.
  ///
  /// - Throws: As `AWSKeys` and `AccessLog`.
  func awsKeys() throws -> AWSKeys {
    let log = try accessLog()
    var names: [ItemName] = []
    do {
      let keys = try AWSKeys(in: namespace, location) { name in
        let value = try store.value(for: name)
        if value != nil { names.append(name) }
        return value
      }
      for name in names { log?.note(name, .read) }
      return keys
    } catch {
      let isAbsent = names.isEmpty && error is Failure
      log?.note(
        try ItemName(AWSKeys.idIdentifier, in: namespace), isAbsent ? .absent : .failed(error))
      throw error
    }
  }

  /// The item with the login.
  ///
  /// - Throws: `invalidName`.
  var itemName: ItemName {
    get throws(StoreError) { try ItemName(name, in: namespace) }
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

  /// Returns the login that is stored.
  ///
  /// - Throws: A failure that says to log in if no one is logged in; any error of the store.
  func login() throws -> StoredLogin {
    do {
      guard let login = try items(of: StoredLogin.self, store).item(forIdentifier: name) else {
        throw loginNeeded("no one is logged in")
      }
      return login
    } catch let error as StoreError where error.code == StoreError.undecodable {
      throw StoreError(
        error.code, store: error.store, reason: "this is not a login of this tool",
        remedy: "It was not changed: give another --name, or read it with session-tools get",
        underlying: error)
    }
  }

  /// Returns the failure for a missing or invalid login, which says how to log in.
  ///
  /// - Parameters:
  ///   - reason: Why that is needed.
  ///   - login: The login that is no longer of use, if there is one.
  /// - Returns: The failure.
  func loginNeeded(_ reason: String, again login: StoredLogin? = nil) -> Failure {
    Failure(.loginNeeded, "\(location): \(reason). Run \(command(for: login))")
  }

  /// Returns the failure for a login that the server does not refresh until someone changes
  /// something: its own remedies are options of `session-tools login`.
  func notRefreshed(_ login: StoredLogin, because error: WebLoginError) -> Failure {
    Failure(
      ExitStatus(error),
      "\(Remedy.reason(of: error)). The login is kept: correct this at the server, or log in again "
        + "with other options than \(command(for: login))")
  }

  private func command(for login: StoredLogin?) -> String {
    var options = login?.options ?? ["--issuer", "URL", "--client-id", "ID"]
    options += ["--store", location.argument, "--service", namespace.service]
    if name != LoginOptions.standardName { options += ["--name", name] }
    options += self.options
    return "session-tools login \(options.asTyped)"
  }

  private func items<Item: Codable>(
    of type: Item.Type, _ store: some SecretStore
  ) -> StoreContainer<Item> {
    StoreContainer(store, namespace: namespace)
  }
}
