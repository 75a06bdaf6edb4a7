import CGIO
import Glibc

/// A file descriptor received over a bus, closed when it is released.
package final class ReceivedDescriptor: Sendable {
  package let number: Int32

  init(taking number: Int32) {
    self.number = number
  }

  deinit {
    close(number)
  }
}

/// An answer with descriptors, which its handles refer to by position.
package struct DescribedAnswer: Sendable {
  package let values: [Variant]
  package let descriptors: [ReceivedDescriptor]

  /// Returns the descriptor that a value of the answer refers to, or `nil`.
  package func descriptor(_ position: Int) -> ReceivedDescriptor? {
    guard values.indices.contains(position), let handle = values[position].handle,
      descriptors.indices.contains(handle)
    else { return nil }
    return descriptors[handle]
  }
}

extension DBusConnection {
  /// Calls a method that answers with descriptors, and waits for its answer.
  ///
  /// - Parameters: As for `call`.
  /// - Returns: The answer.
  /// - Throws: As for `call`.
  package func callForDescriptors(
    _ method: DBusMethod, _ arguments: [Variant] = [], timeout: Duration
  ) async throws(DBusError) -> DescribedAnswer {
    let arguments = Variant.tuple(arguments)
    return unsafe try await asyncOperation(timeout: nil) { cancellable, callback, data in
      unsafe g_dbus_connection_call_with_unix_fd_list(
        self.pointer, method.destination, method.path, method.interface, method.name,
        arguments.pointer, nil, G_DBUS_CALL_FLAGS_NONE, timeout.milliseconds, nil, cancellable,
        callback, data)
    } finish: { result, error in
      var list: UnsafeMutablePointer<GUnixFDList>?
      let answer = unsafe g_dbus_connection_call_with_unix_fd_list_finish(
        self.pointer, &list, result, error)
      defer { unsafe release(list) }
      guard let answer = unsafe answer else { return nil }
      return unsafe DescribedAnswer(
        values: Variant(taking: answer).children, descriptors: ReceivedDescriptor.all(of: list))
    }
  }
}

extension ReceivedDescriptor {
  fileprivate static func all(
    of list: UnsafeMutablePointer<GUnixFDList>?
  ) -> [ReceivedDescriptor] {
    guard let list = unsafe list else { return [] }
    var count: gint = 0
    // From now on this process owns them; they are closed when it starts a program.
    guard let numbers = unsafe g_unix_fd_list_steal_fds(list, &count) else { return [] }
    defer { unsafe g_free(numbers) }
    return (0..<Int(count)).map { unsafe ReceivedDescriptor(taking: numbers[$0]) }
  }
}

/// Releases a list of descriptors, if there is one.
private func release(_ list: UnsafeMutablePointer<GUnixFDList>?) {
  guard let list = unsafe list else { return }
  unsafe g_object_unref(list)
}
