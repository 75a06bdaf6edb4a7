import CSessionToolsSecret
import SessionToolsDBus
import SecretStores

/// A session with a provider: the agreement by which secrets are sealed for the bus.
///
/// libsecret negotiates the session and seals, because that is cryptography. All other calls bypass
/// libsecret: its own calls answer prompts by themselves, and have no deadlines.
///
/// After the negotiation, `SecretService` is only read: this justifies the unchecked conformance.
@safe final class ServiceSession: @unchecked Sendable {
  private let service: OpaquePointer

  /// Negotiates a session.
  ///
  /// - Parameters:
  ///   - provider: The provider, with the connection for the secrets.
  ///   - timeout: How long that may take.
  /// - Returns: The session.
  /// - Throws: The provider's error, `timedOut`, `cancelled` or `disconnected`.
  static func open(
    with provider: Provider, timeout: Duration
  ) async throws(DBusError) -> ServiceSession {
    let session = ServiceSession(provider)
    _ = unsafe try await asyncOperation(timeout: timeout) { cancellable, callback, data in
      unsafe secret_service_ensure_session(session.service, cancellable, callback, data)
    } finish: { result, error in
      unsafe secret_service_ensure_session_finish(session.service, result, error) != 0 ? true : nil
    }
    return session
  }

  private init(_ provider: Provider) {
    var values = unsafe [
      Self.value(of: g_type_from_name("GObject")) {
        unsafe g_value_set_object($0, UnsafeMutableRawPointer(provider.connection.pointer))
      },
      // `G_BUS_TYPE_NONE`, because the connection is given directly.
      Self.value(of: g_bus_type_get_type()) { unsafe g_value_set_enum($0, 0) },
      Self.value(of: g_type_from_name("gchararray")) {
        unsafe g_value_set_string($0, provider.name)
      },
      Self.value(of: g_type_from_name("gchararray")) {
        unsafe g_value_set_string($0, Provider.path)
      },
      Self.value(of: g_type_from_name("gchararray")) {
        unsafe g_value_set_string($0, ServiceInterface.service.rawValue)
      },
    ]
    let names = ["g-connection", "g-bus-type", "g-name", "g-object-path", "g-interface-name"]
    let object = unsafe names.withCStrings { names in
      unsafe g_object_new_with_properties(
        secret_service_get_type(), guint(values.count), names, values)
    }
    for position in values.indices { unsafe g_value_unset(&values[position]) }
    guard let object = unsafe object else {
      preconditionFailure("GLib ends the process when there is no memory")
    }
    unsafe service = OpaquePointer(object)
  }

  private static func value(
    of type: GType, _ set: (UnsafeMutablePointer<GValue>) -> Void
  ) -> GValue {
    var value = GValue()
    unsafe g_value_init(&value, type)
    unsafe set(&value)
    return value
  }

  deinit {
    unsafe g_object_unref(UnsafeMutableRawPointer(service))
  }

  /// The path of the session's object, which calls with secrets must contain.
  var path: String {
    unsafe String(cString: secret_service_get_session_dbus_path(service))
  }

  /// Seals one line of ASCII for the provider.
  func seal(_ line: ByteBuffer) -> Variant {
    let bytes = unsafe line.pointer(to: 0..<line.byteCount)
    let value = unsafe secret_value_new(
      bytes.assumingMemoryBound(to: CChar.self), gssize(line.byteCount), "text/plain")
    defer { unsafe secret_value_unref(UnsafeMutableRawPointer(value)) }
    guard let sealed = unsafe secret_service_encode_dbus_secret(service, value) else {
      preconditionFailure("an open session seals every secret")
    }
    return withExtendedLifetime(line) { unsafe Variant(taking: sealed) }
  }

  /// The type of a secret on the bus.
  static let secretType = "(oayays)"

  /// Opens a secret that the provider sealed; `nil` when it is not sealed for this session.
  func open(_ secret: Variant) -> SecretBytes? {
    // libsecret accepts no other type.
    guard secret.type == Self.secretType,
      let value = unsafe secret_service_decode_dbus_secret(service, secret.pointer)
    else { return nil }
    defer { unsafe secret_value_unref(UnsafeMutableRawPointer(value)) }
    var count: gsize = 0
    let start = unsafe secret_value_get(value, &count)
    return unsafe SecretBytes(UnsafeRawBufferPointer(start: start, count: Int(count)))
  }
}

extension [String] {
  /// Calls a closure with the strings as C strings.
  fileprivate func withCStrings<Result>(
    _ body: (UnsafeMutablePointer<UnsafePointer<CChar>?>) -> Result
  ) -> Result {
    let copies = unsafe map { unsafe g_strdup($0) }
    defer { unsafe copies.forEach { unsafe g_free($0) } }
    var pointers: [UnsafePointer<CChar>?] = unsafe copies.map { unsafe UnsafePointer($0) }
    return unsafe body(&pointers)
  }
}

extension DBusError {
  private static let otherKeyName = "org.session-tools.OtherKey"

  /// Returns an error for a secret that is sealed with another key than the session's.
  ///
  /// KWallet's key differs in one of 256 sessions: the shared secret then begins with a zero byte,
  /// which KWallet leaves out. A new session has new keys.
  static func otherKey() -> DBusError {
    DBusError(.remote(otherKeyName), "a secret is not sealed with the session's key")
  }

  /// Whether the two sides of a session have different keys.
  var saysOtherKey: Bool { name == Self.otherKeyName }
}
