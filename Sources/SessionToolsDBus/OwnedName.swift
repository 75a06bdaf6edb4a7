import Synchronization

/// A name on the bus that a connection owns until it releases the name or ends.
///
/// The bus queues the connections that request a name, so it is a lock that all who share the bus
/// share, whatever else their environments differ in.
package struct OwnedName: Sendable {
  private let name: String
  private let connection: DBusConnection

  /// The answers of `RequestName`.
  private enum Answer {
    static let isOwner: UInt32 = 1
    static let isQueued: UInt32 = 2
  }

  /// Requests a name, and waits until no other connection owns it.
  ///
  /// - Parameters:
  ///   - name: The name, which this connection neither owns nor waits for.
  ///   - connection: The connection that is to own it.
  ///   - answerTimeout: How long the bus may take to answer.
  ///   - deadline: The time by which the name must be free.
  /// - Returns: The name, which the connection owns.
  /// - Throws: `timedOut` when it was not free in time, `cancelled` with the task, `disconnected`,
  ///   or the bus's refusal.
  package static func request(
    _ name: String, on connection: DBusConnection, answerTimeout: Duration, until deadline: Deadline
  ) async throws(DBusError) -> OwnedName {
    let owned = OwnedName(name: name, connection: connection)
    do throws(DBusError) {
      try await owned.request(answerTimeout, until: deadline)
      return owned
    } catch {
      // The connection may be in the queue, or may own the name by now.
      if error.name == nil { await owned.release(timeout: answerTimeout) }
      throw error
    }
  }

  private func request(
    _ answerTimeout: Duration, until deadline: Deadline
  ) async throws(DBusError) {
    let (events, receiver) = AsyncStream.makeStream(of: Bool.self)
    let acquired = await connection.subscribe(
      to: DBusConnection.busName, from: DBusConnection.busName
    ) { [name] signal in
      if signal.name == "NameAcquired", signal.arguments.first?.text == name {
        receiver.yield(true)
      }
    }
    let closing = connection.onClose { receiver.yield(false) }
    defer { withExtendedLifetime((acquired, closing)) {} }
    let answer = try await connection.call(
      DBusConnection.busMethod("RequestName"), [.string(name), .unsigned32(0)],
      timeout: answerTimeout
    ).children.first?.unsigned32
    if answer == Answer.isOwner { return }
    guard answer == Answer.isQueued else { throw .unexpected("RequestName") }
    let timer = MainLoop.shared.perform(after: deadline.left) { receiver.finish() }
    defer { withExtendedLifetime(timer) {} }
    for await isAcquired in events {
      if isAcquired { return }
      throw DBusError(.disconnected, "the connection to the bus broke")
    }
    throw DBusError(
      Task.isCancelled ? .cancelled : .timedOut, "another connection owns the name")
  }

  /// Gives the name to the next connection that waits for it, also when the task is cancelled.
  package func release(timeout: Duration) async {
    await Task.detached { [name, connection] in
      do {
        _ = try await connection.call(
          DBusConnection.busMethod("ReleaseName"), [.string(name)], timeout: timeout)
      } catch {
        // The bus takes the name from a connection that ends.
        connection.close()
      }
    }.value
  }
}
