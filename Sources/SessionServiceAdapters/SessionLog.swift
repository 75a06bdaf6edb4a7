#if ServiceAdapters
public import Logging
public import SessionToolsBase

/// A log of session and store events, written with swift-log.
///
/// ```swift
/// let log = SessionLog(Logger(label: "com.example.mail"))
/// SessionEvent.observer = { log.record($0) }
/// ```
///
/// A failed refresh is a `warning`. A rejection by the server, a store's notice, and a wait of a
/// second or longer for a lock are each a `notice`. A failed try, and a sign-out by the program,
/// are `info`; everything else is `debug`. The metadata has the `session` or the `store`, and the
/// `duration` in seconds if the event has one; the `account` only if the log was made with
/// ``Accounts/hashed(_:)`` or ``Accounts/plain``.
public struct SessionLog: Sendable {
  private let logger: Logger
  private let accounts: Accounts

  /// How the log names the account of an event's session.
  public enum Accounts: Sendable {
    /// Not at all; the default.
    case none
    /// By a keyed hash: those who have the key find the entries of an account, and others only see
    /// which entries are of the same account.
    case hashed(AccountHash)
    /// As it is.
    case plain
  }

  /// Creates a log of events; writes nothing yet.
  ///
  /// - Parameters:
  ///   - logger: The logger that writes.
  ///   - accounts: How accounts are named.
  public init(_ logger: Logger, accounts: Accounts = .none) {
    self.logger = logger
    self.accounts = accounts
  }

  /// Writes an event.
  public func record(_ event: SessionEvent) {
    var metadata = event.metadata
    if let account = event.account, let name = accounts.name(of: account) {
      metadata["account"] = .string(name)
    }
    logger.log(level: event.level, "\(event)", metadata: metadata)
  }
}

extension SessionLog.Accounts {
  fileprivate func name(of account: AccountIdentifier) -> String? {
    switch self {
    case .none: nil
    case .hashed(let hash): hash(account)
    case .plain: account.text.escapingControls()
    }
  }
}

extension SessionEvent {
  fileprivate var level: Logger.Level {
    switch self {
    case .refreshEnded(_, .failed, _): .warning
    case .refreshEnded(_, .rejected, _), .signedOut(_, .rejected), .storeNotice: .notice
    case .lockWaited(_, let duration) where duration >= .seconds(1): .notice
    case .refreshTryFailed, .signedOut: .info
    case .refreshBegan, .refreshEnded, .refreshWaited, .lockWaited: .debug
    }
  }

  fileprivate var metadata: Logger.Metadata {
    switch self {
    case .refreshBegan(let session), .refreshTryFailed(let session, _, _),
      .signedOut(let session, _):
      ["session": .string(session.storageIdentifier)]
    case .refreshEnded(let session, _, let duration), .refreshWaited(let session, let duration):
      [
        "session": .string(session.storageIdentifier), "duration": "\(duration / .seconds(1))",
      ]
    case .lockWaited(let store, let duration):
      ["store": .string(store), "duration": "\(duration / .seconds(1))"]
    case .storeNotice(let store, _):
      ["store": .string(store)]
    }
  }
}
#endif
