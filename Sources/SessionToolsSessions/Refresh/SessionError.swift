import Foundation
public import SecretStores
/// Why a session has no valid item; the code says which action it calls for.
///
/// A store that cannot be read is a `StoreError` instead. A cancelled task gets
/// `CancellationError`.
public struct SessionError: SessionToolsError {
  /// The kind of failure.
  public let code: Code
  /// The session, by its storage identifier; of another ``Refreshable``, its type.
  public let session: String
  /// What happened: one sentence without its full stop.
  public let reason: String
  /// When to try again, if that is known.
  public let retryAfter: Duration?
  /// What the refresh handler reported, if it is the cause.
  ///
  /// For programs to examine; not part of the description, because it may quote a secret.
  public let underlying: (any Error)?

  /// Whether the same call may succeed later, without anyone doing anything.
  ///
  /// If a refresh failed, its handler's error decides, where that says it.
  public var isTransient: Bool {
    switch code {
    case .timedOut, .tooManyWaiters: true
    case .temporarilyFailed: (underlying as? any SessionToolsError)?.isTransient ?? true
    default: false
    }
  }

  init(
    _ code: Code, session: String, _ reason: String, retryAfter: Duration? = nil,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.session = session
    self.reason = reason
    self.retryAfter = retryAfter
    self.underlying = underlying
  }

  /// A kind of failure; later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    fileprivate init(_ name: String) {
      description = name
    }
  }
}

extension SessionError.Code {
  /// No user is signed in: ask for credentials.
  public static let notSignedIn = SessionError.Code("notSignedIn")
  /// The server permanently rejected the item, and the user was signed out: ask for credentials.
  public static let rejected = SessionError.Code("rejected")
  /// The refresh failed now and may work later; the item is still there: try again.
  public static let temporarilyFailed = SessionError.Code("temporarilyFailed")
  /// The item has expired, and there is no refresher, or no refresh was requested.
  public static let expired = SessionError.Code("expired")
  /// The refresh took longer than the policy's timeout, but may still succeed: try again.
  public static let timedOut = SessionError.Code("timedOut")
  /// A refresh handler asked the session that it refreshes for a valid item, and would wait for
  /// itself: use the item of the request.
  public static let reentrant = SessionError.Code("reentrant")
  /// As many callers as the policy allows are already waiting: try again later.
  public static let tooManyWaiters = SessionError.Code("tooManyWaiters")
  /// The session has neither a refresher nor a refresh handler: set its `refreshHandler`.
  public static let noRefreshHandler = SessionError.Code("noRefreshHandler")
  /// The refresh handler released its completion without calling it.
  public static let abandoned = SessionError.Code("abandoned")
}

/// The codes, for `catch` clauses such as `catch SessionError.notSignedIn`.
extension SessionError {
  /// The code ``Code/notSignedIn``.
  public static let notSignedIn = Code.notSignedIn
  /// The code ``Code/rejected``.
  public static let rejected = Code.rejected
  /// The code ``Code/temporarilyFailed``.
  public static let temporarilyFailed = Code.temporarilyFailed
  /// The code ``Code/expired``.
  public static let expired = Code.expired
  /// The code ``Code/timedOut``.
  public static let timedOut = Code.timedOut
  /// The code ``Code/reentrant``.
  public static let reentrant = Code.reentrant
  /// The code ``Code/tooManyWaiters``.
  public static let tooManyWaiters = Code.tooManyWaiters
  /// The code ``Code/noRefreshHandler``.
  public static let noRefreshHandler = Code.noRefreshHandler
  /// The code ``Code/abandoned``.
  public static let abandoned = Code.abandoned
}

extension SessionError.Code {
  /// Lets `catch SessionError.rejected` match an error by its code.
  public static func ~= (code: SessionError.Code, error: any Error) -> Bool {
    (error as? SessionError)?.code == code
  }
}

extension SessionError: CustomStringConvertible {
  /// The session, what happened, and when to try again.
  public var description: String {
    let seconds = retryAfter?.wholeSeconds
    return "session \(session): \(reason)." + (seconds.map { " Try again in \($0) s." } ?? "")
  }
}

extension Duration {
  /// The seconds, rounded up, for people; a server may have sent any number.
  package var wholeSeconds: Int { Int(min(max(self / .seconds(1), 0), 1e15).rounded(.up)) }
}
