import DBus
public import SessionAuthentication

/// Asks for a finger of the person, by fprintd.
///
/// It is a presence check: the reader's service answers yes or no.
public struct FingerprintAuthenticator: Authenticator {
  /// How long fprintd may take to say what it has; a reader that was asleep takes its time.
  private static let serviceTimeout = Duration.seconds(25)

  private let user: String
  private let largestTryCount: Int
  private let fixedAddress: String?
  private let prompt: (any AuthenticationPrompt)?

  /// Asks for a finger.
  ///
  /// - Parameters:
  ///   - user: Whose finger; of the user who runs the process when `nil`. The fingers of others are
  ///     for administrators.
  ///   - largestTryCount: How many fingers may be wrong before it fails, 1 or more; 3.
  ///   - busAddress: The message bus on which fprintd is; the system's when `nil`, which is what
  ///     `DBUS_SYSTEM_BUS_ADDRESS` says.
  ///   - prompt: What tells the person what to do, such as "Put your finger on the reader". It is
  ///     asked nothing.
  public init(
    user: String? = nil, largestTryCount: Int = 3, busAddress: String? = nil,
    prompt: (any AuthenticationPrompt)? = nil
  ) {
    precondition(largestTryCount >= 1, "somebody may try at least once")
    self.user = user ?? ""
    self.largestTryCount = largestTryCount
    fixedAddress = busAddress
    self.prompt = prompt
  }

  /// `fingerprint`.
  public var method: AuthenticationMethod { .fingerprint }

  /// Whether there are a reader and a finger that it knows.
  ///
  /// Starts fprintd if it does not run. Takes as long as that does, at most 25 s.
  ///
  /// - Returns: `biometryNotAvailable` when there is no service or no reader,
  ///   `biometryNotEnrolled`, `notPermitted`, or `timedOut`, if it is not available. Whether the
  ///   reader is in use, only asking shows.
  public func availability() async -> AuthenticatorAvailability {
    do throws(AuthenticationError) {
      _ = try await reader(until: Deadline(in: Self.serviceTimeout))
      return .available
    } catch {
      return .unavailable(error)
    }
  }

  /// Waits for a finger.
  ///
  /// The reader is given back before it returns, also when the task was cancelled; when fprintd
  /// does not answer any more, that takes up to 3 s.
  ///
  /// - Returns: `fingerprint`.
  /// - Throws: `failed` after as many wrong fingers as are allowed; `appCancel`, `timedOut`;
  ///   `biometryNotAvailable` when there is no service or no reader; `biometryNotEnrolled`; `busy`
  ///   when someone else uses the reader; `notPermitted` outside of an active session at the
  ///   machine; `serviceLost` when the reader or its service went away.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    let deadline = Deadline(in: request.timeout)
    let reader = try await reader(until: deadline)
    // A prompt that takes its time holds up nobody, and its messages stay in their order.
    let (messages, teller) = AsyncStream.makeStream(of: AuthenticationMessage.self)
    Task { [prompt] in
      for await message in messages { await prompt?.show(message) }
    }
    defer { teller.finish() }
    try await FingerprintVerification(
      reader: reader, user: user, largestTryCount: largestTryCount, deadline: deadline,
      tell: { teller.yield($0) }
    ).run()
    return method
  }

  /// The reader, when it knows a finger of the user.
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
