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
/// `duration` in seconds if the event has one.
public struct SessionLog: Sendable {
  private let logger: Logger

  /// Creates a log of events; writes nothing yet.
  public init(_ logger: Logger) {
    self.logger = logger
  }

  /// Writes an event.
  public func record(_ event: SessionEvent) {
    logger.log(level: event.level, "\(event)", metadata: event.metadata)
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
      ["session": .string(session)]
    case .refreshEnded(let session, _, let duration), .refreshWaited(let session, let duration):
      ["session": .string(session), "duration": "\(duration / .seconds(1))"]
    case .lockWaited(let store, let duration):
      ["store": .string(store), "duration": "\(duration / .seconds(1))"]
    case .storeNotice(let store, _):
      ["store": .string(store)]
    }
  }
}
#endif
