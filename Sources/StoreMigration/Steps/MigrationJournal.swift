import Foundation
import SealedStore
import SecretStores

/// The journal of a migration, written to a store of the caller's before anything is changed.
///
/// - `header` records what is migrated and how far the migration is.
/// - `batch 1`, `batch 2`, … each list up to 1,000 of the selected items and what is done with
///   them. All of them are written before the header, and that before any store is changed.
/// - `kept 1/7` is the value that the target had under the name of the first batch's item 7.
/// - `failed 1` has a bit for every item of the first batch that is not migrated, or was left by
///   undoing; `failed 1/7` is the reason.
/// - `omitted 1`, `omitted 2`, … each list up to 1,000 things that the source has and leaves out.
/// - `removed 1` has a bit for every item of the first batch that is removed from the source, or
///   about to be; `original 1/7` is the value that the source had, if the target has another.
struct MigrationJournal: Sendable {
  static let namespace: StoreNamespace = "org.session-tools.migration"
  static let version = 2

  let store: any SecretStore

  struct Header: Codable {
    enum Phase: String, Codable {
      case copying, copied, finished, undoing
      /// Everything was restored but the items that the journal has as failed.
      case undoneInPart = "undone in part"
      case undone
      /// The content of the journal is no longer needed, and is being removed.
      case closing
    }

    var version = MigrationJournal.version
    var options: MigrationOptions
    let isTransformed: Bool
    /// The identities of the stores, if these are known.
    let source: String?
    let target: String?
    /// The key of digests that mean nothing outside of this migration.
    let digestKey: Data
    var phase = Phase.copying
    var batchCount = 0
    /// How many items the migration copies.
    var itemCount = 0
    /// The newest change of the target; `nil` before the first one.
    var begun: Begun?
    /// How many items were copied with that change.
    var begunCount = 0
    /// The reason why the source could not list all its items, if it could not.
    var damage: StoredError?
    /// How much the source has and leaves out; `nil` in the header of an earlier version.
    var omittedCount: Int?
  }

  /// A change of the target that was begun; all earlier ones were made.
  struct Begun: Codable {
    /// The number of the batch, from 1.
    let batch: Int
    /// The positions in the batch of the items that the change is about.
    let positions: Range<Int>
    /// Whether the items are written one by one, although the target is atomic.
    var isInParts: Bool?
  }

  static func name(_ identifier: String) throws(StoreError) -> ItemName {
    try ItemName(identifier, in: namespace)
  }

  // MARK: Header

  /// Reads the header; returns `nil` if there is no migration.
  ///
  /// - Throws: As reading the store; `corrupt` or `unsupportedVersion`.
  func header() throws(StoreError) -> Header? {
    guard let value = try store.value(for: Self.name("header")) else { return nil }
    struct Version: Decodable { let version: Int }
    let data = Data(value.copyBytes())
    guard let found = try? JSONDecoder().decode(Version.self, from: data) else {
      throw corrupt("header")
    }
    guard found.version == Self.version else {
      throw StoreError(
        .unsupportedVersion, store: "migration journal",
        reason: "it has version \(found.version)", remedy: "Use a newer version of the program")
    }
    guard let header = try? JSONDecoder().decode(Header.self, from: data) else {
      throw corrupt("header")
    }
    return header
  }

  func change(of header: Header) throws(StoreError) -> StoreChange {
    .put(try encode(header), for: try Self.name("header"))
  }

  /// Runs a closure that reads what the journal has of a migration.
  ///
  /// - Parameters:
  ///   - migration: The key of the migration's digests, which no other one has.
  ///   - body: The closure.
  /// - Throws: `nothingBegun` if the journal has no migration, or has another one by now; `store`
  ///   with the closure's error.
  func reading(
    _ migration: Data, _ body: () throws(StoreError) -> Void
  ) throws(MigrationError) {
    let isOpen: Bool
    do throws(StoreError) {
      isOpen = try header().map { $0.phase != .closing && $0.digestKey == migration } ?? false
      if isOpen { try body() }
    } catch {
      throw .store(error)
    }
    guard isOpen else { throw .nothingBegun }
  }

  // MARK: Batches

  /// Reads a batch.
  ///
  /// - Throws: As reading the store; `corrupt`.
  func batch(_ number: Int) throws(StoreError) -> MigrationBatch {
    guard let value = try store.value(for: Self.name("batch \(number)")),
      let batch = MigrationBatch(value)
    else { throw corrupt("batch \(number)") }
    return batch
  }

  func change(of batch: MigrationBatch, _ number: Int) throws(StoreError) -> StoreChange {
    .put(batch.encoded, for: try Self.name("batch \(number)"))
  }

  /// Returns the name of the value that the target had before.
  static func keptName(_ batch: Int, _ position: Int) throws(StoreError) -> ItemName {
    try name("kept \(batch)/\(position)")
  }

  /// Reads the value that the target had before.
  ///
  /// - Throws: As reading the store; `corrupt`.
  func kept(_ batch: Int, _ position: Int) throws(StoreError) -> SecretBytes {
    guard let value = try store.value(for: Self.keptName(batch, position)) else {
      throw corrupt("value of before")
    }
    return value
  }

  // MARK: Failures and removals

  /// A set of items of each batch.
  enum Items: String {
    /// The items that are not migrated, or were left by undoing.
    case failed
    /// The items that are removed from the source, or about to be.
    case removed
  }

  /// Reads the positions in a batch of some items.
  ///
  /// - Throws: As reading the store.
  func positions(of items: Items, _ batch: Int) throws(StoreError) -> Set<Int> {
    guard let value = try store.value(for: Self.name("\(items.rawValue) \(batch)")) else {
      return []
    }
    var positions: Set<Int> = []
    for (index, byte) in value.copyBytes().enumerated() {
      for bit in 0..<8 where byte & (1 << UInt8(bit)) != 0 { positions.insert(index * 8 + bit) }
    }
    return positions
  }

  func change(
    of items: Items, to positions: Set<Int>, _ batch: Int
  ) throws(StoreError) -> StoreChange {
    var bytes = [UInt8](repeating: 0, count: (positions.max() ?? 0) / 8 + 1)
    for position in positions { bytes[position / 8] |= 1 << UInt8(position % 8) }
    return .put(SecretBytes(bytes), for: try Self.name("\(items.rawValue) \(batch)"))
  }

  /// Returns the changes after which a batch has these failures, and no others.
  ///
  /// The reasons are first, for a journal that is not atomic.
  func changes(
    to failures: [Int: StoreError], _ batch: Int
  ) throws(StoreError) -> [StoreChange] {
    var changes: [StoreChange] = []
    for (position, error) in failures {
      changes.append(
        .put(try encode(StoredError(error)), for: try Self.failureName(batch, position)))
    }
    changes.append(try change(of: .failed, to: Set(failures.keys), batch))
    return changes
  }

  /// Reads why an item is not migrated, or was left by undoing.
  ///
  /// - Throws: As reading the store; `corrupt`.
  func failure(_ batch: Int, _ position: Int) throws(StoreError) -> StoreError {
    guard let value = try store.value(for: Self.failureName(batch, position)),
      let failure = try? JSONDecoder().decode(StoredError.self, from: Data(value.copyBytes()))
    else { throw corrupt("list of failures") }
    return failure.error
  }

  private static func failureName(_ batch: Int, _ position: Int) throws(StoreError) -> ItemName {
    try name("failed \(batch)/\(position)")
  }

  /// Returns the name of the value that the source had, if the target has another.
  static func originalName(_ batch: Int, _ position: Int) throws(StoreError) -> ItemName {
    try name("original \(batch)/\(position)")
  }

  /// Reads the value that the source had; `nil` if the target has the same.
  ///
  /// - Throws: As reading the store.
  func original(_ batch: Int, _ position: Int) throws(StoreError) -> SecretBytes? {
    try store.value(for: Self.originalName(batch, position))
  }

  /// An error as the journal stores it.
  struct StoredError: Codable {
    let code: String
    let store: String
    let reason: String
    let remedy: String?

    init(_ error: StoreError) {
      (code, store) = (error.code.description, error.store)
      (reason, remedy) = (error.reason, error.remedy)
    }

    var error: StoreError {
      StoreError(StoreError.Code(code), store: store, reason: reason, remedy: remedy)
    }
  }

  /// Calls a closure with each selected item of a migration whose items were compared, batch by
  /// batch.
  ///
  /// - Throws: As reading the store; `corrupt`; what the closure throws.
  func forEachOutcome(
    _ batchCount: Int,
    _ body: (MigrationBatch.Entry, MigrationReport.Outcome) throws(StoreError) -> Void
  ) throws(StoreError) {
    for number in 0..<batchCount {
      let batch = number + 1
      let failed = try positions(of: .failed, batch)
      let removed = try positions(of: .removed, batch)
      for (position, entry) in try self.batch(batch).entries.enumerated() {
        let outcome: MigrationReport.Outcome
        if failed.contains(position) {
          outcome = .failed(try failure(batch, position))
        } else {
          switch entry.part {
          case .copied: outcome = removed.contains(position) ? .moved : .migrated
          case .skipped: outcome = .skipped
          case .left: outcome = .left
          }
        }
        try body(entry, outcome)
      }
    }
  }

  // MARK: Omissions

  /// The largest number of things that one value lists.
  static let maximumOmittedCount = 1000

  func change(
    of omissions: [Omission], _ number: Int
  ) throws(StoreError) -> StoreChange {
    .put(try encode(omissions), for: try Self.omittedName(number))
  }

  /// Calls a closure with everything that the source has and leaves out.
  ///
  /// - Throws: As reading the store; `corrupt`; what the closure throws.
  func forEachOmission(
    _ count: Int, _ body: (Omission) throws(StoreError) -> Void
  ) throws(StoreError) {
    var left = count
    var number = 1
    while left > 0 {
      guard let value = try store.value(for: Self.omittedName(number)),
        let omissions = try? JSONDecoder().decode(
          [Omission].self, from: Data(value.copyBytes())),
        1...left ~= omissions.count
      else { throw corrupt("list of what is left out") }
      for omission in omissions { try body(omission) }
      left -= omissions.count
      number += 1
    }
  }

  private static func omittedName(_ number: Int) throws(StoreError) -> ItemName {
    try name("omitted \(number)")
  }

  // MARK: Closing

  /// Removes everything, the header last; a journal whose removal is interrupted counts as removed.
  ///
  /// - Throws: As changing the store.
  func clear() throws(StoreError) {
    do throws(StoreError) {
      if var header = try header() {
        header.phase = .closing
        try store.apply([change(of: header)])
      }
    } catch let error
      where [StoreError.corrupt, StoreError.unsupportedVersion].contains(error.code)
    {
      // This migration cannot be resumed, so its journal may be removed in parts.
    }
    let headerKey = try Self.name("header")
    let names = try store.names(in: Self.namespace).filter { $0 != headerKey }
    for part in names.parts(of: 1000) { try store.apply(part.map(StoreChange.remove)) }
    if try store.contains(headerKey) { try store.remove(headerKey) }
  }

  private func encode(_ value: some Encodable) throws(StoreError) -> SecretBytes {
    do {
      return SecretBytes(try JSONEncoder().encode(value))
    } catch {
      // Not expected: only texts, numbers and bytes are encoded.
      throw StoreError(
        .unencodable, store: "migration journal", reason: "\(error)", underlying: error)
    }
  }

  private func corrupt(_ part: String) -> StoreError {
    StoreError(
      .corrupt, store: "migration journal", reason: "its \(part) is missing or damaged",
      remedy: "Compare both stores, and close the migration")
  }
}
