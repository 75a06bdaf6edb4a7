import CSessionToolsGIO

/// The reason why a call over D-Bus has no answer.
package struct DBusError: Error, Sendable {
  package enum Kind: Hashable, Sendable {
    /// The other side answered with an error of this name.
    case remote(String)
    /// No answer came in time.
    case timedOut
    /// The task was cancelled.
    case cancelled
    /// There is no bus, or the connection to it broke.
    case disconnected
  }

  package let kind: Kind
  /// The text of the other side, or of GLib; for people.
  package let message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// Takes ownership of GLib's error.
  init(taking error: UnsafeMutablePointer<GError>) {
    defer { unsafe g_error_free(error) }
    let isFromGIO = unsafe error.pointee.domain == g_io_error_quark()
    let isFromDBus = unsafe error.pointee.domain == g_dbus_error_quark()
    let code = unsafe error.pointee.code
    if let name = unsafe g_dbus_error_get_remote_error(error) {
      let text = unsafe String(cString: name)
      unsafe g_free(name)
      unsafe g_dbus_error_strip_remote_error(error)
      // The bus sends these in place of a service that died, or GLib in place of the bus.
      let isLate = ["org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut"]
      kind = isLate.contains(text) ? .timedOut : .remote(text)
    } else if isFromGIO, code == Int32(bitPattern: G_IO_ERROR_TIMED_OUT.rawValue) {
      kind = .timedOut
    } else if isFromGIO, code == Int32(bitPattern: G_IO_ERROR_CANCELLED.rawValue) {
      kind = .cancelled
    } else if isFromGIO || isFromDBus {
      kind = .disconnected
    } else {
      // Another library did not understand the answer.
      kind = .remote(Self.unexpectedName)
    }
    // Some programs end their messages with a newline.
    message = unsafe String(cString: error.pointee.message)
      .split(separator: "\n").joined(separator: " ")
  }

  package static let unexpectedName = "org.session-tools.Unexpected"

  /// Returns an error for an answer of a form that the specification does not allow.
  package static func unexpected(_ method: String) -> DBusError {
    DBusError(.remote(unexpectedName), "the answer to \(method) has an unexpected form")
  }

  package var name: String? {
    if case .remote(let name) = kind { name } else { nil }
  }
}
