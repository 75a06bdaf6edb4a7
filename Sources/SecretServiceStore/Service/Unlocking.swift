import SessionToolsDBus
import SecretStores

/// Prompts: a provider's questions to a person, or deferred work, before it completes a call.
extension Provider {
  /// Unlocks a collection, and waits for a person if the provider has a question.
  ///
  /// The request uses a separate connection, which is closed to give up. The call for giving up,
  /// Prompt.Dismiss, crashes gnome-keyring-daemon 42 when its prompter has not answered yet; a
  /// client that disconnects does no harm.
  ///
  /// - Parameters:
  ///   - collection: Its path.
  ///   - deadline: The time by which the provider must have answered.
  ///   - promptDeadline: The time by which a person must have answered; `nil` when no one may be
  ///     asked.
  /// - Returns: Whether it is unlocked; `false` when the person dismissed the question, `nil` when
  ///   there is a question and no one may be asked.
  /// - Throws: `DBusError`: `timedOut` when there was no answer, `cancelled` with the task.
  func unlock(
    _ collection: String, until deadline: Deadline, promptUntil promptDeadline: Deadline?
  ) async throws(DBusError) -> Bool? {
    let own = try await bus.connect(until: deadline)
    defer { own.close() }
    return try await unlock(
      [collection], until: deadline, promptUntil: promptDeadline, on: own)
  }

  /// Unlocks items of an unlocked collection, which KeePassXC withholds from every connection until
  /// a person allows it to read them.
  ///
  /// The request uses the connection that will read them. KeePassXC's window stays after the caller
  /// has given up, and a later answer still counts.
  ///
  /// - Parameters: As for `unlock`.
  /// - Returns: As for `unlock`.
  /// - Throws: As for `unlock`.
  func allow(
    _ items: [String], until deadline: Deadline, promptUntil promptDeadline: Deadline?
  ) async throws(DBusError) -> Bool? {
    try await unlock(items, until: deadline, promptUntil: promptDeadline, on: connection)
  }

  private func unlock(
    _ objects: [String], until deadline: Deadline, promptUntil promptDeadline: Deadline?,
    on connection: DBusConnection
  ) async throws(DBusError) -> Bool? {
    let answer = try await call(
      Self.path, .service, "Unlock", [.objectPaths(objects)], until: deadline, on: connection)
    guard answer.count == 2, let prompt = answer[1].objectPath else { throw .unexpected("Unlock") }
    var unlocked = answer[0]
    if prompt != Self.noPath {
      guard let promptDeadline else { return nil }
      guard let result = try await result(of: prompt, until: promptDeadline, on: connection) else {
        return false
      }
      unlocked = result
    }
    // Not all are unlocked when one of them is gone, or a person allowed only others.
    return Set(objects).isSubset(of: unlocked.objectPaths ?? []) ? true : nil
  }

  /// Lets a provider ask its question.
  ///
  /// - Returns: The result; `nil` when the prompt was dismissed.
  /// - Throws: `DBusError`.
  func result(
    of prompt: String, until deadline: Deadline, on connection: DBusConnection
  ) async throws(DBusError) -> Variant? {
    let (events, receiver) = AsyncStream.makeStream(of: PromptEvent.self)
    let answer = await connection.subscribe(
      to: ServiceInterface.prompt.rawValue, from: name, path: prompt
    ) { signal in
      if signal.name == "Completed" { receiver.yield(.answered(signal.arguments)) }
    }
    // A provider that has ended never answers.
    let end = await connection.subscribe(
      to: "org.freedesktop.DBus", from: "org.freedesktop.DBus"
    ) { [name] signal in
      if signal.name == "NameOwnerChanged", signal.arguments.first?.text == name {
        receiver.yield(.gone)
      }
    }
    let closing = connection.onClose { receiver.yield(.gone) }
    let timer = MainLoop.shared.perform(after: deadline.left) { receiver.finish() }
    defer { withExtendedLifetime((answer, end, closing, timer)) {} }
    // Sent over the same connection as the subscription, so it arrives after that.
    _ = try await call(
      prompt, .prompt, "Prompt", [.string("")], until: deadline, on: connection)
    for await event in events {
      guard case .answered(let arguments) = event else {
        throw DBusError(
          .remote("org.freedesktop.DBus.Error.NoReply"), "the service ended during its prompt")
      }
      guard arguments.count == 2, let isDismissed = arguments[0].boolean else {
        throw .unexpected("Prompt")
      }
      return isDismissed ? nil : arguments[1].unwrapped
    }
    throw DBusError(Task.isCancelled ? .cancelled : .timedOut, "the prompt was not answered")
  }
}

/// The outcome of a prompt.
private enum PromptEvent: Sendable {
  case answered([Variant])
  case gone
}
