import CSessionToolsGIO

/// A private connection to a message bus.
///
/// It is not the connection that GLib shares: that one ends the process when the bus goes away, and
/// calls through it are made in the name of the whole program.
///
/// `GDBusConnection` may be used from any thread, and the pointer never changes: this justifies the
/// unchecked conformance.
@safe package final class DBusConnection: @unchecked Sendable {
  /// For other C libraries; valid as long as this object exists.
  package let pointer: OpaquePointer

  private init(taking pointer: OpaquePointer) {
    unsafe self.pointer = unsafe pointer
    unsafe g_dbus_connection_set_exit_on_close(pointer, 0)
  }

  /// Connects to a bus.
  ///
  /// - Throws: `disconnected` when there is no bus at that address, `timedOut` or `cancelled`.
  package static func open(
    address: String, timeout: Duration
  ) async throws(DBusError) -> DBusConnection {
    unsafe try await asyncOperation(timeout: timeout) { cancellable, callback, data in
      let flags =
        G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
        | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
      unsafe g_dbus_connection_new_for_address(
        address, GDBusConnectionFlags(flags), nil, cancellable, callback, data)
    } finish: { result, error in
      unsafe g_dbus_connection_new_for_address_finish(result, error).map {
        unsafe DBusConnection(taking: $0)
      }
    }
  }

  deinit {
    // Pending calls retain the connection, so none can be left here.
    close()
    unsafe g_object_unref(UnsafeMutableRawPointer(pointer))
  }

  /// Whether the connection broke.
  package var isClosed: Bool { unsafe g_dbus_connection_is_closed(pointer) != 0 }

  /// Closes the connection, which ends all pending calls.
  package func close() {
    let kept = unsafe Kept(pointer)
    // GLib delivers the rest to the main context of the calling thread. That thread must run one,
    // or the connection would never be released.
    MainLoop.shared.perform { unsafe g_dbus_connection_close(kept.pointer, nil, nil, nil) }
  }

  /// Calls a method and waits for its answer.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - arguments: Its arguments.
  ///   - timeout: How long to wait; the other side may continue after that.
  /// - Returns: The answer, a tuple.
  /// - Throws: `remote` with the error in the answer, `timedOut`, `cancelled` or `disconnected`.
  package func call(
    _ method: DBusMethod, _ arguments: [Variant] = [], timeout: Duration
  ) async throws(DBusError) -> Variant {
    // GLib never calls back for an invalid object path.
    guard unsafe g_variant_is_object_path(method.path) != 0 else {
      throw DBusError(.remote("org.freedesktop.DBus.Error.UnknownObject"), "no such object")
    }
    let arguments = Variant.tuple(arguments)
    return unsafe try await asyncOperation(timeout: nil) { cancellable, callback, data in
      unsafe g_dbus_connection_call(
        self.pointer, method.destination, method.path, method.interface, method.name,
        arguments.pointer, nil, G_DBUS_CALL_FLAGS_NONE, timeout.milliseconds, cancellable,
        callback, data)
    } finish: { result, error in
      unsafe g_dbus_connection_call_finish(self.pointer, result, error).map {
        unsafe Variant(taking: $0)
      }
    }
  }

  /// Calls a closure, on the D-Bus thread, for every signal of an interface.
  ///
  /// - Parameters:
  ///   - interface: The interface; all its signals are received.
  ///   - sender: A name on the bus, or `nil` for any sender.
  ///   - path: The object, or `nil` for all.
  ///   - receive: Called with each signal; must not block.
  /// - Returns: A subscription that ends when it is released.
  package func subscribe(
    to interface: String, from sender: String?, path: String? = nil,
    receive: @escaping @Sendable (DBusSignal) -> Void
  ) async -> DBusSubscription {
    let identifier = await withCheckedContinuation { continuation in
      MainLoop.shared.perform {
        let box = unsafe Unmanaged.passRetained(Box(receive))
        let identifier = unsafe g_dbus_connection_signal_subscribe(
          self.pointer, sender, interface, nil, path, nil, G_DBUS_SIGNAL_FLAGS_NONE,
          { _, _, path, _, member, parameters, data in
            guard let path = unsafe path, let member = unsafe member,
              let parameters = unsafe parameters, let data = unsafe data
            else { return }
            let signal = unsafe DBusSignal(
              path: String(cString: path), name: String(cString: member),
              arguments: Variant(sharing: parameters).children)
            unsafe Unmanaged<Box<@Sendable (DBusSignal) -> Void>>.fromOpaque(data)
              .takeUnretainedValue().value(signal)
          }, box.toOpaque(),
          { data in
            guard let data = unsafe data else { return }
            unsafe Unmanaged<Box<@Sendable (DBusSignal) -> Void>>.fromOpaque(data).release()
          })
        continuation.resume(returning: identifier)
      }
    }
    return DBusSubscription(self, identifier)
  }
}

/// A connection that is retained until a closure has used it.
@safe private final class Kept: @unchecked Sendable {
  let pointer: OpaquePointer

  init(_ pointer: OpaquePointer) {
    unsafe g_object_ref(UnsafeMutableRawPointer(pointer))
    unsafe self.pointer = unsafe pointer
  }

  deinit {
    unsafe g_object_unref(UnsafeMutableRawPointer(pointer))
  }
}

/// A method of an object on a bus.
package struct DBusMethod: Sendable {
  package let destination: String
  package let path: String
  package let interface: String
  package let name: String

  package init(_ destination: String, _ path: String, _ interface: String, _ name: String) {
    self.destination = destination
    self.path = path
    self.interface = interface
    self.name = name
  }
}

/// A signal that an object sent.
package struct DBusSignal: Sendable {
  package let path: String
  package let name: String
  package let arguments: [Variant]
}

/// A subscription to signals, which ends when it is released.
package final class DBusSubscription: Sendable {
  private let connection: DBusConnection
  private let identifier: guint

  init(_ connection: DBusConnection, _ identifier: guint) {
    self.connection = connection
    self.identifier = identifier
  }

  deinit {
    let (connection, identifier) = (connection, identifier)
    MainLoop.shared.perform {
      unsafe g_dbus_connection_signal_unsubscribe(connection.pointer, identifier)
    }
  }
}

extension DBusConnection {
  /// Calls a closure, on the D-Bus thread, when the connection breaks or is closed.
  ///
  /// - Returns: An observer that stops when it is released.
  package func onClose(_ body: @escaping @Sendable () -> Void) -> ClosingObserver {
    ClosingObserver(self, body)
  }

  /// Waits until the connection breaks or is closed.
  package func ended() async {
    let (events, receiver) = AsyncStream.makeStream(of: Void.self)
    let observer = onClose { receiver.finish() }
    if !isClosed { for await _ in events {} }
    withExtendedLifetime(observer) {}
  }
}

/// An observer of the end of a connection, until it is released.
package final class ClosingObserver: Sendable {
  private let connection: DBusConnection
  private let identifier: gulong

  init(_ connection: DBusConnection, _ body: @escaping @Sendable () -> Void) {
    self.connection = connection
    let box = unsafe Unmanaged.passRetained(Box(body))
    // GLib calls it with arguments that are not needed, except the last, which is the box.
    let callback:
      @convention(c) (
        OpaquePointer?, gboolean, UnsafeMutablePointer<GError>?, UnsafeMutableRawPointer?
      ) -> Void = { _, _, _, data in
        guard let data = unsafe data else { return }
        unsafe Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(data).takeUnretainedValue().value()
      }
    identifier = unsafe g_signal_connect_data(
      UnsafeMutableRawPointer(connection.pointer), "closed",
      unsafeBitCast(callback, to: GCallback.self), box.toOpaque(),
      { data, _ in
        guard let data = unsafe data else { return }
        unsafe Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(data).release()
      }, GConnectFlags(0))
  }

  deinit {
    unsafe g_signal_handler_disconnect(UnsafeMutableRawPointer(connection.pointer), identifier)
  }
}
