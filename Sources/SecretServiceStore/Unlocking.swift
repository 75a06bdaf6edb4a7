import DBus
import SessionToolsBase

/// Prompts: what a provider wants to ask a person, or do later, before it does what it was told.
extension Provider {
  /// Unlocks a collection, and waits for a person if the provider wants to ask one.
  ///
  /// What is asked for goes over a connection of its own, and giving up closes that. The call that
  /// is there for giving up, Prompt.Dismiss, ends gnome-keyring-daemon 42 when its prompter has
  /// not answered yet; a client that goes away does it no harm.
  ///
  /// - Parameters:
  ///   - collection: Its path.
  ///   - deadline: When the provider has to have answered.
  ///   - promptDeadline: When a person has to have answered; `nil` when nobody may be asked.
  /// - Returns: Whether it is unlocked; `false` when the person dismissed the question, `nil`
  ///   when there is a question and nobody may be asked.
  /// - Throws: `DBusError`: `timedOut` when nobody answered, `cancelled` with the task.
  func unlock(
    _ collection: String, until deadline: Deadline, promptUntil promptDeadline: Deadline?
  ) async throws(DBusError) -> Bool? {
    let own = try await bus.connect(until: deadline)
    defer { own.close() }
    return try await unlock(
      [collection], until: deadline, promptUntil: promptDeadline, on: own)
  }

  /// Unlocks items of a collection that is not locked, which KeePassXC keeps from every
  /// connection until a person allows it to read them.
  ///
  /// Asked for over the connection that is to read them. Its window stays when nobody waits for
  /// the answer any more, and what is answered then still counts.
  ///
  /// - Parameters: As of `unlock`.
  /// - Returns: As `unlock`.
  /// - Throws: As `unlock`.
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
    // Not all of them, when one of them is gone, or a person allowed others only.
    return Set(objects).isSubset(of: unlocked.objectPaths ?? []) ? true : nil
  }

  /// Lets a provider ask what it wants to ask.
  ///
  /// - Returns: What came of it; `nil` when it was dismissed.
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
    // A provider that is gone never answers.
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
    // Sent over the same connection as the request for the signal, so it comes after that.
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
    throw DBusError(Task.isCancelled ? .cancelled : .timedOut, "nobody answered the prompt")
  }
}

/// What can become of a prompt.
private enum PromptEvent: Sendable {
  case answered([Variant])
  case gone
}
