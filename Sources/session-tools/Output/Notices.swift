import SealedStore

/// What a store mended or met on the way.
enum Notices {
  /// Says it on standard error.
  static let tell: @Sendable (StoreNotice) -> Void = { notice in
    StandardError.say("session-tools: \(notice)")
  }
}
