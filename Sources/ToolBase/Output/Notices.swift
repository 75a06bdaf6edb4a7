package import SealedStore

/// The notices of a store about what it repaired or found.
package enum Notices {
  /// Writes a notice to standard error.
  package static let report: @Sendable (StoreNotice) -> Void = { notice in
    StandardError.complain("\(notice)")
  }
}
