import SessionToolsDBus
public import SessionAuthentication

/// An authenticator that asks for a finger of the person, with fprintd.
///
/// It is a presence check: fprintd answers yes or no.
public struct FingerprintAuthenticator: UserAuthenticator {
  /// How long fprintd may take to answer without a finger; a reader that was asleep needs some
  /// time.
  private static let serviceTimeout = Duration.seconds(25)

  private let user: String
  private let maximumAttemptCount: Int
  private let fixedAddress: String?
  private let prompt: (any AuthenticationPrompt)?

  /// Makes an authenticator.
  ///
  /// - Parameters:
  ///   - user: The user whose finger is asked for; the user of the process when `nil`. Only
  ///     administrators may ask for the fingers of others.
  ///   - maximumAttemptCount: How many fingers may be wrong before it fails, at least 1; by
  ///     default 3.
  ///   - busAddress: The message bus with fprintd; when `nil`, the system's, which
  ///     `DBUS_SYSTEM_BUS_ADDRESS` can set.
  ///   - prompt: Shows the person what to do, such as "Put your finger on the reader". It receives
  ///     no questions.
  public init(
    user: String? = nil, maximumAttemptCount: Int = 3, busAddress: String? = nil,
    prompt: (any AuthenticationPrompt)? = nil
  ) {
    precondition(maximumAttemptCount >= 1, "the number of tries must be at least 1")
    self.user = user ?? ""
    self.maximumAttemptCount = maximumAttemptCount
    fixedAddress = busAddress
    self.prompt = prompt
  }

  /// The method `fingerprint`.
  public var method: AuthenticationMethod { .fingerprint }

  /// Checks that there is a reader with an enrolled finger.
  ///
  /// Starts fprintd if it is not running. Takes as long as that, at most 25 s.
  ///
  /// - Throws: `biometryNotAvailable` when there is no service or no reader, `biometryNotEnrolled`,
  ///   `notPermitted`, or `timedOut`. Only an evaluation shows whether the reader is in use.
  public func checkAvailability() async throws(AuthenticationError) {
    _ = try await reader(until: Deadline(in: Self.serviceTimeout))
  }

  /// Waits for a finger.
  ///
  /// The reader is released before this returns, also when the task was cancelled; if fprintd no
  /// longer answers, that takes up to 3 s.
  ///
  /// - Returns: `fingerprint`.
  /// - Throws: `failed` after as many wrong fingers as are allowed; `appCancel`, `timedOut`;
  ///   `biometryNotAvailable` when there is no service or no reader; `biometryNotEnrolled`; `busy`
  ///   when another program is using the reader; `notPermitted` outside of an active session at the
  ///   machine; `serviceLost` when the reader or its service went away.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    let deadline = Deadline(in: request.timeout)
    let reader = try await reader(until: deadline)
    // A slow prompt delays nothing, and its messages stay in order.
    let (messages, reporter) = AsyncStream.makeStream(of: AuthenticationMessage.self)
    Task { [prompt] in
      for await message in messages { await prompt?.show(message) }
    }
    defer { reporter.finish() }
    try await FingerprintVerification(
      reader: reader, user: user, maximumAttemptCount: maximumAttemptCount, deadline: deadline,
      report: { reporter.yield($0) }
    ).run()
    return method
  }

  /// Finds the reader, which must know a finger of the user.
  private func reader(until deadline: Deadline) async throws(AuthenticationError)
    -> FingerprintReader
  {
    do throws(DBusError) {
      let address = fixedAddress ?? BusAddress.system
      let reader = try await FingerprintReader(at: address, until: deadline)
      try await reader.requireFingers(of: user, until: deadline)
      return reader
    } catch {
      throw FingerprintFailure.error(error, isClaimed: false)
    }
  }
}
