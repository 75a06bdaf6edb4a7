import SecretStores
import SessionToolsDBus

/// The sessions of all clients: the agreements by which secrets are sealed for the bus.
struct Sessions {
  /// The most sessions of one client; one that has as many does not close them.
  private static let maximumCount = 4096

  private struct Session {
    let client: String
    /// The key; `nil` where secrets are sent as they are.
    let key: TransferKey?
  }

  private var sessions: [String: Session] = [:]
  private var lastNumber = 0

  /// The last steps of the sessions' paths.
  var names: [String] { Array(sessions.keys) }

  /// Opens a session.
  ///
  /// - Returns: What the client needs to know, and the path.
  /// - Throws: `NotSupported` for another algorithm, `InvalidArgs` for an unusable public key,
  ///   `LimitsExceeded`.
  mutating func open(
    by client: String, algorithm: String, input: Variant
  ) throws(DBusError) -> (output: Variant, path: String) {
    guard sessions.values.count(where: { $0.client == client }) < Self.maximumCount else {
      throw .limit("this client has \(Self.maximumCount) sessions and closes none")
    }
    var (key, output) = (TransferKey?.none, Variant.string(""))
    switch algorithm {
    case "plain": break
    case "dh-ietf1024-sha256-aes128-cbc-pkcs7":
      guard let other = input.unwrapped.bytes, let agreed = TransferKey.agree(with: other) else {
        throw .invalid("the public key is not usable with \(algorithm)")
      }
      key = agreed.key
      output = .bytes(agreed.publicKey)
    default:
      throw DBusError(
        .remote("org.freedesktop.DBus.Error.NotSupported"), "there is no algorithm \(algorithm)")
    }
    lastNumber += 1
    let name = "s\(lastNumber)"
    sessions[name] = Session(client: client, key: key)
    return (.variant(output), ObjectPath.session(name).text)
  }

  /// Returns whether a client has a session of a name.
  func belongs(_ name: String, to client: String) -> Bool { sessions[name]?.client == client }

  mutating func close(_ name: String) { sessions[name] = nil }

  /// Closes the sessions of a client that has left the bus.
  mutating func closeAll(of client: String) {
    sessions = sessions.filter { $0.value.client != client }
  }

  private func session(_ path: String, of client: String) throws(DBusError) -> Session {
    guard case .session(let name)? = ObjectPath(path), let session = sessions[name],
      session.client == client
    else { throw .noSession(path) }
    return session
  }

  /// Checks that a client has a session.
  ///
  /// - Throws: `NoSession`.
  func check(_ path: String, of client: String) throws(DBusError) {
    _ = try session(path, of: client)
  }

  /// Seals a secret for a client.
  ///
  /// - Throws: `NoSession`.
  func seal(
    _ value: SecretBytes, contentType: String, session path: String, of client: String
  ) throws(DBusError) -> Variant {
    let sealed = try session(path, of: client).key?.seal(value)
    return .tuple([
      .objectPath(path), .bytes(sealed?.vector ?? []), .bytes(sealed?.sealed ?? value.copyBytes()),
      .string(contentType),
    ])
  }

  /// Opens a secret that a client sealed.
  ///
  /// - Throws: `NoSession`, or `InvalidArgs` if it is not sealed for its session.
  func open(
    _ secret: Variant, of client: String
  ) throws(DBusError) -> (value: SecretBytes, contentType: String) {
    let parts = secret.children
    guard parts.count == 4, let path = parts[0].objectPath, let vector = parts[1].bytes,
      let bytes = parts[2].bytes, let contentType = parts[3].text
    else { throw .invalid("a secret is \(Interface.secretType)") }
    guard let key = try session(path, of: client).key else {
      return (SecretBytes(bytes), contentType)
    }
    guard let value = key.open(bytes, vector: vector) else {
      throw .invalid("the secret is not sealed with the key of its session")
    }
    return (value, contentType)
  }
}
