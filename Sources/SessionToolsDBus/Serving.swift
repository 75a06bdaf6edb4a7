import CSessionToolsGIO
package import Dispatch

/// A call of a method of an object here.
package struct DBusCall: Sendable {
  /// The unique name of the connection that calls, which the bus vouches for.
  package let sender: String
  package let path: String
  /// The interface; `nil` if the caller leaves it to the object.
  package let interface: String?
  package let method: String
  package let arguments: [Variant]
  /// The arguments' types, such as `(ss)`; `()` without arguments.
  package let signature: String
}

/// The service of calls, which ends when it is released.
package final class DBusServing: Sendable {
  private let connection: DBusConnection
  private let identifier: guint

  fileprivate init(_ connection: DBusConnection, _ identifier: guint) {
    self.connection = connection
    self.identifier = identifier
  }

  deinit { unsafe g_dbus_connection_remove_filter(connection.pointer, identifier) }
}

extension DBusConnection {
  /// The interface that GLib answers itself, for every path.
  private static let peerInterface = "org.freedesktop.DBus.Peer"

  /// Answers the calls that others make of any object of this connection.
  ///
  /// Calls come in the order in which they were made, one at a time.
  ///
  /// - Parameters:
  ///   - queue: A serial queue, on which the closure runs.
  ///   - receive: Gets each call, and what sends its answer: now or later, once.
  /// - Returns: The service, which ends when it is released.
  package func serve(
    on queue: DispatchQueue, _ receive: @escaping @Sendable (DBusCall, DBusReply) -> Void
  ) -> DBusServing {
    let receive: @Sendable (ReceivedCall) -> Void = { [weak self] received in
      guard let self else { return }
      queue.async { receive(received.call, DBusReply(self, to: received)) }
    }
    let box = unsafe Unmanaged.passRetained(Box(receive))
    // On GLib's own thread, which must not block.
    let identifier = unsafe g_dbus_connection_add_filter(
      pointer,
      { _, message, isIncoming, data in
        guard isIncoming != 0, let message = unsafe message, let data = unsafe data,
          unsafe g_dbus_message_get_message_type(message) == G_DBUS_MESSAGE_TYPE_METHOD_CALL,
          let call = unsafe ReceivedCall(message),
          call.call.interface != DBusConnection.peerInterface
        else { return unsafe message }
        unsafe Unmanaged<Box<@Sendable (ReceivedCall) -> Void>>.fromOpaque(data)
          .takeUnretainedValue().value(call)
        unsafe g_object_unref(UnsafeMutableRawPointer(message))
        return nil
      }, box.toOpaque(),
      { data in
        guard let data = unsafe data else { return }
        unsafe Unmanaged<Box<@Sendable (ReceivedCall) -> Void>>.fromOpaque(data).release()
      })
    return DBusServing(self, identifier)
  }

  fileprivate func send(_ message: OpaquePointer?) {
    guard let message = unsafe message else { return }
    // It fails when the connection was closed, which ends the service.
    unsafe g_dbus_connection_send_message(
      pointer, message, G_DBUS_SEND_MESSAGE_FLAGS_NONE, nil, nil)
    unsafe g_object_unref(UnsafeMutableRawPointer(message))
  }

  /// Sends a signal of an object here, to all who listen or to one connection.
  package func emit(
    _ name: String, of interface: String, from path: String, to destination: String? = nil,
    _ arguments: [Variant]
  ) {
    let arguments = Variant.tuple(arguments)
    // It fails when the connection was closed, which ends the service.
    unsafe g_dbus_connection_emit_signal(
      pointer, destination, path, interface, name, arguments.pointer, nil)
  }
}

/// What sends the answer to a call.
package struct DBusReply: Sendable {
  private let connection: DBusConnection
  private let received: ReceivedCall

  fileprivate init(_ connection: DBusConnection, to received: ReceivedCall) {
    self.connection = connection
    self.received = received
  }

  /// Sends the answer's arguments, or an error; one that is not `remote` is sent as
  /// `org.freedesktop.DBus.Error.Failed`.
  package func send(_ answer: Result<[Variant], DBusError>) {
    guard received.expectsReply else { return }
    switch answer {
    case .success(let arguments):
      unsafe connection.send(received.reply(with: .tuple(arguments)))
    case .failure(let error):
      unsafe connection.send(
        received.refusal(error.name ?? "org.freedesktop.DBus.Error.Failed", error.message))
    }
  }
}

/// A message with a call, and what its answer needs.
///
/// A received message does not change: this justifies the unchecked conformance.
@safe private final class ReceivedCall: @unchecked Sendable {
  let call: DBusCall
  let expectsReply: Bool
  private let message: OpaquePointer

  /// Reads a call; `nil` if it has no sender or no body that could be answered, as none that came
  /// over a bus has.
  init?(_ message: OpaquePointer) {
    guard let sender = unsafe g_dbus_message_get_sender(message),
      let path = unsafe g_dbus_message_get_path(message),
      let method = unsafe g_dbus_message_get_member(message)
    else { return nil }
    let body = unsafe g_dbus_message_get_body(message).map { unsafe Variant(sharing: $0) }
    call = unsafe DBusCall(
      sender: String(cString: sender), path: String(cString: path),
      interface: g_dbus_message_get_interface(message).map { unsafe String(cString: $0) },
      method: String(cString: method), arguments: body?.children ?? [],
      signature: body?.type ?? "()")
    let flags = unsafe g_dbus_message_get_flags(message).rawValue
    expectsReply = flags & G_DBUS_MESSAGE_FLAGS_NO_REPLY_EXPECTED.rawValue == 0
    unsafe g_object_ref(UnsafeMutableRawPointer(message))
    unsafe self.message = unsafe message
  }

  deinit { unsafe g_object_unref(UnsafeMutableRawPointer(message)) }

  func reply(with arguments: Variant) -> OpaquePointer? {
    let reply = unsafe g_dbus_message_new_method_reply(message)
    unsafe g_dbus_message_set_body(reply, arguments.pointer)
    return unsafe reply
  }

  func refusal(_ name: String, _ text: String) -> OpaquePointer? {
    unsafe g_dbus_message_new_method_error_literal(message, name, text)
  }
}
