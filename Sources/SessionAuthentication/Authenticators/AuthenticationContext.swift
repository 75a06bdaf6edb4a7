public import SessionToolsBase
import Synchronization

/// An authenticator that remembers whether somebody is being asked, what came of it, and how long ago.
///
/// As `LAContext` does for one place in a program, such as a page that asks again before a payment. It
/// can be used again whatever came before. What it knows is of this process.
public final class AuthenticationContext: Authenticator {
  private struct Inside {
    var state = AuthenticationState.notDetermined
    /// When somebody was authenticated last.
    var success: (method: AuthenticationMethod, at: BootInstant)?
    /// Counts what makes an evaluation that is under way worthless.
    var invalidationCount = 0
  }

  private let authenticator: any Authenticator
  private let reuseDuration: Duration
  private let clock: any SessionClock
  private let inside = Mutex(Inside())

  /// The longest ``init(_:reuseDuration:clock:)`` takes; 5 min.
  public static let largestReuseDuration: Duration = .seconds(300)

  /// Wraps an authenticator.
  ///
  /// - Parameters:
  ///   - authenticator: Who asks.
  ///   - reuseDuration: How long after a success nobody is asked again, at most 5 min; zero.
  ///   - clock: What tells the time.
  public init(
    _ authenticator: some Authenticator, reuseDuration: Duration = .zero,
    clock: some SessionClock = SystemSessionClock()
  ) {
    self.authenticator = authenticator
    self.reuseDuration = min(reuseDuration, Self.largestReuseDuration)
    self.clock = clock
  }

  /// The authenticator's.
  public var method: AuthenticationMethod { authenticator.method }

  /// The authenticator's.
  public func availability() async -> AuthenticatorAvailability {
    await authenticator.availability()
  }

  /// What came of the last evaluation.
  public var state: AuthenticationState { inside.withLock { $0.state } }

  /// Whether it is longer than a time since somebody was authenticated; `true` if nobody ever was.
  ///
  /// The time that the machine slept counts.
  ///
  /// - Parameter duration: The time; with zero it is always so.
  /// - Returns: Whether to ask again.
  public func needsReauthentication(after duration: Duration) -> Bool {
    let now = clock.instant
    let age = inside.withLock { $0.success?.at }.flatMap { $0.duration(to: now) }
    return age.map { $0 < .zero || $0 >= duration } ?? true
  }

  /// Forgets the last success; an evaluation that is under way ends with `appCancel`, whatever the
  /// person answers.
  public func invalidate() {
    inside.withLock { inside in
      inside.success = nil
      inside.invalidationCount += 1
      if case .authenticated = inside.state { inside.state = .notDetermined }
    }
  }

  /// Has a person asked, unless one was authenticated within the reuse duration.
  ///
  /// - Throws: `busy` when somebody is being asked already; what the authenticator throws;
  ///   `appCancel` when the task is cancelled.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    if let method = reusable { return method }
    let count = try begin()
    do throws(AuthenticationError) {
      let method = try await authenticator.evaluate(request)
      let now = clock.instant
      let isWanted = inside.withLock { inside in
        guard inside.invalidationCount == count else { return false }
        inside.success = (method, now)
        inside.state = .authenticated(method)
        return true
      }
      if isWanted { return method }
      throw .cancelledByApp
    } catch {
      inside.withLock { $0.state = .failed(error) }
      throw error
    }
  }

  private var reusable: AuthenticationMethod? {
    needsReauthentication(after: reuseDuration) ? nil : inside.withLock { $0.success?.method }
  }

  private func begin() throws(AuthenticationError) -> Int {
    let count: Int? = inside.withLock { inside in
      if case .evaluating = inside.state { return nil }
      inside.state = .evaluating
      return inside.invalidationCount
    }
    guard let count else {
      throw AuthenticationError(AuthenticationError.busy, "somebody is being asked already")
    }
    return count
  }
}

/// What an ``AuthenticationContext`` knows.
public enum AuthenticationState: Sendable {
  /// Nobody was asked yet, or it was forgotten.
  case notDetermined
  /// Somebody is being asked.
  case evaluating
  /// The person was authenticated.
  case authenticated(AuthenticationMethod)
  /// The person was not, or did not want to be: they can be asked again.
  case failed(AuthenticationError)
}
