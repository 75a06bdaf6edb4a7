import Foundation
import SealedStore
package import SecretStores

/// What holds before a migration begins or continues.
extension Migration {
  /// Returns whether source and target have the same items, which then get other names.
  ///
  /// - Throws: As reading the stores.
  package func isWithinOneStore() throws(StoreError) -> Bool {
    if source as AnyObject === target as AnyObject { return true }
    if let source = source as? SealedFileStore, let target = target as? SealedFileStore {
      // A copy of a store's directory has its identifier.
      return try source.isSameStore(as: target)
    }
    if let source = source as? any MigratableStore, source.sharesItems(with: target) { return true }
    let now = try identities()
    return now.source != nil && now.source == now.target
  }

  /// Returns the identities of both stores, if these are known.
  private func identities() throws(StoreError) -> (source: String?, target: String?) {
    (try source.identity(), try target.identity())
  }

  /// Returns the header of a migration that is about to begin.
  func newHeader() throws(StoreError) -> MigrationJournal.Header {
    let now = try identities()
    let digestKey = ByteBuffer(byteCount: 32, isSecret: true)
    SystemRandomSource().fill(digestKey, 0..<32)
    return MigrationJournal.Header(
      options: options, isTransformed: transform != nil, source: now.source, target: now.target,
      digestKey: Data(digestKey.bytes(0..<32)))
  }

  func header() throws(MigrationError) -> MigrationJournal.Header? {
    try storeErrors { () throws(StoreError) in
      try journal.header().flatMap { $0.phase == .closing ? nil : $0 }
    }
  }

  /// Returns the header of the journal's migration, if it is this one.
  func begunHeader() throws(MigrationError) -> MigrationJournal.Header {
    guard let header = try header() else { throw .nothingBegun }
    // A store of unknown identity may be any; but if items are removed, it must be certain that
    // they stay in the other store.
    try checkIsSame(header, mayBeAny: !header.options.deletesSource)
    return header
  }

  /// Checks that a migration of the journal is this one.
  ///
  /// - Parameters:
  ///   - header: What the journal has of its migration.
  ///   - mayBeAny: Whether a store of unknown identity counts as the same.
  /// - Throws: `other`; `store`.
  func checkIsSame(
    _ header: MigrationJournal.Header, mayBeAny: Bool
  ) throws(MigrationError) {
    func check(
      _ difference: MigrationError.Difference, _ begun: String?, _ given: String?
    ) throws(MigrationError) {
      guard begun == given || mayBeAny && (begun == nil || given == nil) else {
        throw .other(
          difference, begun: begun ?? "a store of unknown identity",
          given: given ?? "a store of unknown identity")
      }
    }
    let now = try storeErrors { () throws(StoreError) in try identities() }
    try check(.source, header.source, now.source)
    try check(.target, header.target, now.target)
    let (begun, given, none) = (header.options, options, MigrationOptions())
    if given.selection != none.selection {
      try check(.selection, begun.selection.text, given.selection.text)
    }
    if given.mapping != none.mapping {
      try check(.mapping, begun.mapping.text, given.mapping.text)
    }
    if given.conflicts != none.conflicts {
      try check(.conflicts, begun.conflicts.rawValue, given.conflicts.rawValue)
    }
    try check(
      .transform, header.isTransformed ? "a transform" : "none",
      transform != nil ? "a transform" : "none")
  }

  func check(
    _ plan: MigrationPlan, _ header: MigrationJournal.Header
  ) throws(MigrationError) {
    try checkRemoval(options, header)
    guard plan.conflictCount == 0 else { throw .conflicts(plan) }
    // If nothing is copied, the news is why.
    guard plan.copiedCount > 0 || plan.isComplete else { return }
    try checkProtection(options)
  }

  /// - Throws: `notRemovable` if the options say to delete the source and that is impossible, or it
  ///   is not certain that the items stay in the target.
  func checkRemoval(
    _ options: MigrationOptions, _ header: MigrationJournal.Header
  ) throws(MigrationError) {
    guard options.deletesSource else { return }
    // A migration that was begun to copy may have been continued with stores of unknown identity.
    let now = try storeErrors { () throws(StoreError) in try identities() }
    guard !source.traits.isReadOnly, header.source != nil, header.target != nil,
      header.source == now.source, header.target == now.target
    else { throw .notRemovable }
  }

  /// - Throws: `weakerProtection` for items that would be protected less, or would not be durable.
  func checkProtection(_ options: MigrationOptions) throws(MigrationError) {
    let vanishes = options.deletesSource && source.traits.isDurable && !target.traits.isDurable
    let found = try storeErrors { () throws(StoreError) in try protections() }
    guard options.allowsWeakerProtection || !(found.isWeaker || vanishes) else {
      throw .weakerProtection(before: found.before, after: found.after)
    }
  }

  /// What protects the items in both stores.
  package struct Protections {
    package let before: StoreProtection
    package let after: StoreProtection
    /// Whether less is needed to read them in the target, or it is unknown.
    package let isWeaker: Bool
  }

  /// Returns what protects the items in both stores, and whether less is needed to read them in the
  /// target, or it is unknown.
  ///
  /// Items that were not durable had no protection at rest. A passphrase is never less.
  package func protections() throws(StoreError) -> Protections {
    let (before, after) = (try source.protection(), try target.protection())
    let isWeaker: Bool
    if !source.traits.isDurable {
      isWeaker = false
    } else if let now = after.atRest, now >= .passphrase {
      isWeaker = false
    } else if let now = after.atRest, let then = before.atRest {
      isWeaker = now < then
    } else {
      isWeaker = true
    }
    return Protections(before: before, after: after, isWeaker: isWeaker)
  }
}
