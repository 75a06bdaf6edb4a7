import CGIO

/// Why a call over D-Bus gave no answer.
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
  /// What the other side, or GLib, says; for people.
  package let message: String

  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message
  }

  /// Takes GLib's error over.
  init(taking error: UnsafeMutablePointer<GError>) {
    defer { unsafe g_error_free(error) }
    let isFromGIO = unsafe error.pointee.domain == g_io_error_quark()
    let isFromDBus = unsafe error.pointee.domain == g_dbus_error_quark()
    let code = unsafe error.pointee.code
    if let name = unsafe g_dbus_error_get_remote_error(error) {
      let text = unsafe String(cString: name)
      unsafe g_free(name)
      unsafe g_dbus_error_strip_remote_error(error)
      // The bus answers in the place of one that died, or GLib in the bus's.
      let isLate = ["org.freedesktop.DBus.Error.Timeout", "org.freedesktop.DBus.Error.TimedOut"]
      kind = isLate.contains(text) ? .timedOut : .remote(text)
    } else if isFromGIO, code == Int32(bitPattern: G_IO_ERROR_TIMED_OUT.rawValue) {
      kind = .timedOut
    } else if isFromGIO, code == Int32(bitPattern: G_IO_ERROR_CANCELLED.rawValue) {
      kind = .cancelled
    } else if isFromGIO || isFromDBus {
      kind = .disconnected
    } else {
      // Another library that did not understand the answer.
      kind = .remote(Self.unexpectedName)
    }
    message = unsafe String(cString: error.pointee.message)
  }

  package static let unexpectedName = "org.session-tools.Unexpected"

  /// An answer of a form that the specification does not have.
  package static func unexpected(_ method: String) -> DBusError {
    DBusError(.remote(unexpectedName), "the answer to \(method) has another form than it should")
  }

  package var name: String? {
    if case .remote(let name) = kind { name } else { nil }
  }
}
