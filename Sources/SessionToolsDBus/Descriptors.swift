import CSessionToolsGIO
import Glibc

/// A file descriptor that was received over a bus, or is sent over it; closed when it is released.
package final class BusDescriptor: Sendable {
  package let number: Int32

  /// Takes ownership of a descriptor.
  package init(taking number: Int32) {
    self.number = number
  }

  deinit {
    close(number)
  }

  /// Waits until bytes can be read, or the other end was closed, so that reading does not block.
  ///
  /// - Throws: `timedOut` or `cancelled`.
  package func waitUntilReadable(until deadline: Deadline) async throws(DBusError) {
    let (events, continuation) = AsyncStream.makeStream(of: Bool.self)
    let watch = MainLoop.shared.perform(whenReadable: number) { continuation.yield(true) }
    let timer = MainLoop.shared.perform(after: deadline.left) { continuation.yield(false) }
    defer { withExtendedLifetime((watch, timer)) {} }
    // Cancelling the task ends the stream.
    for await isReadable in events {
      if isReadable { return }
      throw DBusError(.timedOut, "nothing came in time")
    }
    throw DBusError(.cancelled, "the task was cancelled")
  }
}

/// An answer with descriptors, which its handles refer to by position.
package struct DescribedAnswer: Sendable {
  package let values: [Variant]
  package let descriptors: [BusDescriptor]

  /// Returns the descriptor that a value of the answer refers to, or `nil`.
  package func descriptor(_ position: Int) -> BusDescriptor? {
    guard values.indices.contains(position), let handle = values[position].handle,
      descriptors.indices.contains(handle)
    else { return nil }
    return descriptors[handle]
  }
}

extension DBusConnection {
  /// Calls a method that takes descriptors, or answers with some, and waits for its answer.
  ///
  /// - Parameters:
  ///   - method: The method.
  ///   - arguments: Its arguments, in which `Variant.handle` refers to a descriptor.
  ///   - descriptors: The descriptors to send, of which the receiver gets copies.
  ///   - timeout: As for `call`.
  /// - Returns: The answer.
  /// - Throws: As for `call`.
  package func callWithDescriptors(
    _ method: DBusMethod, _ arguments: [Variant] = [], sending descriptors: [BusDescriptor] = [],
    timeout: Duration
  ) async throws(DBusError) -> DescribedAnswer {
    let arguments = Variant.tuple(arguments)
    return unsafe try await asyncOperation(timeout: nil) { cancellable, callback, data in
      let list = unsafe BusDescriptor.list(of: descriptors)
      defer { unsafe release(list) }
      unsafe g_dbus_connection_call_with_unix_fd_list(
        self.pointer, method.destination, method.path, method.interface, method.name,
        arguments.pointer, nil, G_DBUS_CALL_FLAGS_NONE, timeout.milliseconds, list, cancellable,
        callback, data)
    } finish: { result, error in
      var list: UnsafeMutablePointer<GUnixFDList>?
      let answer = unsafe g_dbus_connection_call_with_unix_fd_list_finish(
        self.pointer, &list, result, error)
      defer { unsafe release(list) }
      guard let answer = unsafe answer else { return nil }
      return unsafe DescribedAnswer(
        values: Variant(taking: answer).children, descriptors: BusDescriptor.all(of: list))
    }
  }
}

extension BusDescriptor {
  /// Returns copies of descriptors to send; `nil` for none.
  fileprivate static func list(
    of descriptors: [BusDescriptor]
  ) -> UnsafeMutablePointer<GUnixFDList>? {
    guard !descriptors.isEmpty else { return nil }
    let list = unsafe g_unix_fd_list_new()
    // If the process has too many files open, the other side finds the descriptor missing.
    for descriptor in descriptors { unsafe g_unix_fd_list_append(list, descriptor.number, nil) }
    return unsafe list
  }

  fileprivate static func all(
    of list: UnsafeMutablePointer<GUnixFDList>?
  ) -> [BusDescriptor] {
    guard let list = unsafe list else { return [] }
    var count: gint = 0
    // From now on this process owns them; they are closed when it starts a program.
    guard let numbers = unsafe g_unix_fd_list_steal_fds(list, &count) else { return [] }
    defer { unsafe g_free(numbers) }
    return (0..<Int(count)).map { unsafe BusDescriptor(taking: numbers[$0]) }
  }
}

/// Releases a list of descriptors, if there is one.
private func release(_ list: UnsafeMutablePointer<GUnixFDList>?) {
  guard let list = unsafe list else { return }
  unsafe g_object_unref(list)
}
