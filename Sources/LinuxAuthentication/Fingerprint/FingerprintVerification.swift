import SessionToolsDBus
import SessionAuthentication

/// One use of a reader: it is claimed, used until there is a result, and released in any case.
struct FingerprintVerification: Sendable {
  /// How long releasing the reader may take.
  private static let releaseTimeout = Duration.seconds(3)

  private enum Event: Sendable {
    case scan(FingerprintScan)
    case serviceEnded
  }

  let reader: FingerprintReader
  let user: String
  let maximumAttemptCount: Int
  let deadline: Deadline
  /// Sends a message to the person, without waiting.
  let report: @Sendable (AuthenticationMessage) -> Void

  /// Waits for the user's finger.
  ///
  /// - Throws: Every error of `FingerprintAuthenticator.evaluate` after the reader was found.
  func run() async throws(AuthenticationError) {
    let (events, receiver) = AsyncStream.makeStream(of: Event.self)
    // fprintd sends nothing when it is killed.
    let end = await reader.connection.subscribe(
      to: DBusConnection.busName, from: DBusConnection.busName
    ) { [owner = reader.owner] signal in
      if signal.owner(of: owner) == .some(nil) { receiver.yield(.serviceEnded) }
    }
    let closing = reader.connection.onClose { receiver.yield(.serviceEnded) }
    let timer = MainLoop.shared.perform(after: deadline.left) { receiver.finish() }
    defer { withExtendedLifetime((end, closing, timer)) {} }
    let outcome = await outcome(by: events, receiver)
    await release()
    try outcome.get()
  }

  private func outcome(
    by events: AsyncStream<Event>, _ receiver: AsyncStream<Event>.Continuation
  ) async -> Result<Void, AuthenticationError> {
    do throws(DBusError) {
      try await reader.call("Claim", [.string(user)], until: deadline)
      // From here on every scan is ours; an earlier one was another program's. Only signals from
      // fprintd are received, because every program on the bus may send a signal of that name.
      let status = await reader.connection.subscribe(
        to: FingerprintReader.Interface.device.rawValue, from: reader.owner, path: reader.path
      ) { signal in
        guard signal.name == "VerifyStatus", signal.arguments.count == 2,
          let status = signal.arguments[0].text, let isDone = signal.arguments[1].boolean
        else { return }
        receiver.yield(.scan(FingerprintScan(status, isDone: isDone)))
      }
      defer { withExtendedLifetime(status) {} }
      return try await decision(by: events)
    } catch {
      // The reader has answered before, so it must have gone away.
      return .failure(FingerprintFailure.error(error, isClaimed: true))
    }
  }

  /// Scans fingers until one matches, or too many did not.
  private func decision(
    by events: AsyncStream<Event>
  ) async throws(DBusError) -> Result<Void, AuthenticationError> {
    report(
      .hint(
        await reader.isSwiped(until: deadline)
          ? "Swipe your finger across the reader" : "Put your finger on the reader"))
    try await reader.call("VerifyStart", [.string("any")], until: deadline)
    var tryCount = 0
    for await event in events {
      switch event {
      case .scan(.match):
        return .success(())
      case .scan(.retry(let hint)):
        report(.hint(hint.text))
      case .scan(.noMatch):
        tryCount += 1
        guard tryCount < maximumAttemptCount else {
          return .failure(
            AuthenticationError(
              .failed, "the finger is not enrolled"))
        }
        report(.problem("That finger was not recognized. Try again"))
        try await reader.call("VerifyStop", until: deadline)
        try await reader.call("VerifyStart", [.string("any")], until: deadline)
      case .scan(.ended(let status)):
        return .failure(
          AuthenticationError(
            .serviceLost, "the fingerprint reader ended (\(status))",
            remedy: "Connect it, and try again"))
      case .serviceEnded:
        return .failure(FingerprintFailure.serviceLost)
      }
    }
    return .failure(Task.isCancelled ? .cancelledByApp : FingerprintFailure.timedOut)
  }

  /// Releases the reader.
  ///
  /// It is not cancelled with the caller, and the caller waits for it, so that the next caller
  /// finds the reader free.
  private func release() async {
    await Task.detached { [reader] in
      let deadline = Deadline(in: Self.releaseTimeout)
      // Errors do not matter: the end of the connection releases the reader too.
      _ = try? await reader.call("VerifyStop", until: deadline)
      _ = try? await reader.call("Release", until: deadline)
      reader.connection.close()
    }.value
  }
}
