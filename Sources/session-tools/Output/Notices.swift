import SealedStore

/// The notices of a store about what it repaired or found.
enum Notices {
  /// Writes a notice to standard error.
  static let tell: @Sendable (StoreNotice) -> Void = { notice in
    StandardError.say("session-tools: \(notice)")
  }
}
