import SecretStores
extension SessionEvent {
  /// The session that an event is about.
  ///
  /// Its text is the storage identifier alone, and so is what `dump(_:)` shows: a program that
  /// prints events names no account by mistake.
  public struct ReportedSession: Hashable, Sendable {
    /// The session's storage identifier.
    public let storageIdentifier: String
    /// The account that owns the session's item; `nil` where users are not distinguished.
    public let account: AccountIdentifier?

    /// Names a session.
    public init(_ storageIdentifier: String, account: AccountIdentifier? = nil) {
      self.storageIdentifier = storageIdentifier
      self.account = account
    }
  }

  /// The account of the session that the event is about; `nil` where users are not distinguished,
  /// and for an event of a store.
  ///
  /// It is no secret, but says who uses the program: it is in no text of this package that is made
  /// for a log, unless the program asks for it.
  public var account: AccountIdentifier? {
    switch self {
    case .refreshBegan(let session), .refreshEnded(let session, _, _),
      .refreshTryFailed(let session, _, _), .refreshWaited(let session, _),
      .signedOut(let session, _):
      session.account
    case .lockWaited, .storeNotice: nil
    }
  }
}

extension SessionEvent.ReportedSession: ExpressibleByStringLiteral {
  /// Names a session without an account by its storage identifier.
  public init(stringLiteral storageIdentifier: String) {
    self.init(storageIdentifier)
  }
}

extension SessionEvent.ReportedSession: CustomStringConvertible, CustomReflectable {
  /// The storage identifier.
  public var description: String { storageIdentifier }

  /// The storage identifier alone.
  public var customMirror: Mirror {
    Mirror(self, children: ["storageIdentifier": storageIdentifier])
  }
}

extension Session {
  /// The session as events name it.
  var reported: SessionEvent.ReportedSession {
    SessionEvent.ReportedSession(storageIdentifier, account: account)
  }
}
