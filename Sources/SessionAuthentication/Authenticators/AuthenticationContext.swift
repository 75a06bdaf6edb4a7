public import SessionToolsBase
import Synchronization

/// An authenticator that keeps track of the current evaluation, its result, and the result's age.
///
/// It does for one place in a program what `LAContext` does, such as a page that asks again before
/// a payment. It can always be used again. Its state is only in this process.
public final class AuthenticationContext: UserAuthenticator {
  private struct Inside {
    var state = AuthenticationState.notDetermined
    /// The last success, and when it was.
    var success: (method: AuthenticationMethod, at: BootInstant)?
    /// The number of invalidations; an evaluation under way during one is discarded.
    var invalidationCount = 0
  }

  private let authenticator: any UserAuthenticator
  private let reuseDuration: Duration
  private let clock: any SessionClock
  private let inside = Mutex(Inside())

  /// The longest reuse duration, 5 min; a longer one is shortened to it.
  public static let largestReuseDuration: Duration = .seconds(300)

  /// Wraps an authenticator.
  ///
  /// - Parameters:
  ///   - authenticator: The authenticator that asks.
  ///   - reuseDuration: How long a success counts before the person is asked again, at most 5 min;
  ///     zero by default.
  ///   - clock: The clock that measures the time.
  public init(
    _ authenticator: some UserAuthenticator, reuseDuration: Duration = .zero,
    clock: some SessionClock = SystemSessionClock()
  ) {
    self.authenticator = authenticator
    self.reuseDuration = min(reuseDuration, Self.largestReuseDuration)
    self.clock = clock
  }

  /// The authenticator's method.
  public var method: AuthenticationMethod { authenticator.method }

  /// Returns the authenticator's availability.
  public func availability() async -> AuthenticatorAvailability {
    await authenticator.availability()
  }

  /// The state of the last evaluation.
  public var state: AuthenticationState { inside.withLock { $0.state } }

  /// Returns whether the last success is older than a duration; `true` if there was no success.
  ///
  /// The time that the machine slept counts.
  ///
  /// - Parameter duration: The duration; with zero the result is always `true`.
  /// - Returns: Whether to ask again.
  public func needsReauthentication(after duration: Duration) -> Bool {
    let now = clock.instant
    let age = inside.withLock { $0.success?.at }.flatMap { $0.duration(to: now) }
    return age.map { $0 < .zero || $0 >= duration } ?? true
  }

  /// Forgets the last success; an evaluation under way ends with `appCancel`, whatever the answer.
  public func invalidate() {
    inside.withLock { inside in
      inside.success = nil
      inside.invalidationCount += 1
      if case .authenticated = inside.state { inside.state = .notDetermined }
    }
  }

  /// Asks the person, unless they were authenticated within the reuse duration.
  ///
  /// - Throws: `busy` when an evaluation is already under way; the authenticator's errors;
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
      throw AuthenticationError(
        AuthenticationError.busy, "another authentication is already under way")
    }
    return count
  }
}

/// The state of an ``AuthenticationContext``.
public enum AuthenticationState: Sendable {
  /// There was no evaluation yet, or its result was forgotten.
  case notDetermined
  /// The person is being asked.
  case evaluating
  /// The person was authenticated.
  case authenticated(AuthenticationMethod)
  /// The person was not authenticated, or refused: they can be asked again.
  case failed(AuthenticationError)
}
