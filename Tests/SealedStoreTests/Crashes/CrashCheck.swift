import SealedStore
import SessionToolsBase
import StoreTestSupport

/// What has to hold of a store that is found after a crash.
struct CrashCheck: Sendable {
  private static let path = "/store"

  let life: CrashLife

  /// What is wrong; `nil` when nothing is.
  ///
  /// - Parameters:
  ///   - content: What was found; `nil` when not even the directory was.
  ///   - confirmed: How many operations had returned.
  ///   - isThorough: Whether every record is verified as well, before and after writing on.
  /// - Returns: A sentence for a person.
  func problem(
    with content: RecordedDisk.Content?, confirmed: Int, isThorough: Bool
  ) -> String? {
    let allowed = life.allowed(confirmed)
    do {
      let disk = try content.map { try MemoryFileSystem(Self.path, $0) } ?? MemoryFileSystem()
      let environment = StoreEnvironment(fileSystem: disk)
      let problem =
        allowed[0].keys.isEmpty
        ? try problemOfUnfinishedCreation(environment, isThorough)
        : try problem(environment, allowed, on: disk, isThorough)
      if let problem { return problem }
      if disk.descriptorCount > 0 { return "\(disk.descriptorCount) descriptors are left open" }
      return disk.lockCount > 0 ? "\(disk.lockCount) locks are left" : nil
    } catch {
      return "\(error) \(content?.mapValues(\.count) ?? [:])"
    }
  }

  private func problem(
    _ environment: StoreEnvironment, _ allowed: [CrashLife.Moment], on disk: MemoryFileSystem,
    _ isThorough: Bool
  ) throws -> String? {
    let mustOpen = allowed.reduce(allowed[0].keys) { $0.intersection($1.keys) }
    let mayOpen = allowed.reduce(allowed[0].keys) { $0.union($1.keys) }
    var found: [String: String]?
    var writer: (store: SealedFileStore, key: RawKey)?
    for name in life.keys.keys.sorted() {
      // Keys that never open are tried where some key comes or goes.
      guard let key = life.keys[name], mayOpen.contains(name) || life.changesKeys else { continue }
      guard let store = try openUnlessRefused(key, environment) else {
        if mustOpen.contains(name) { return "\(name) does not open \(allowed.map(\.keys))" }
        continue
      }
      guard mayOpen.contains(name) else { return "\(name) opens again" }
      // What was damaged before is repaired, whether an earlier repair was finished or not.
      if life.damagedJournal != nil { _ = try store.repair() }
      let items = try store.texts()
      if let found, found != items { return "\(name) finds something else" }
      found = items
      writer = (store, key)
    }
    guard let found, let writer else { return "no key opens" }
    if isThorough {
      let report = try writer.store.verify()
      if !report.isSound { return "not sound: \(report.findings)" }
    }
    if !allowed.contains(where: { ($0.items ?? life.repaired) == found }) {
      return "found \(found)"
    }
    if let journal = life.damagedJournal {
      let kept = try disk.content(of: Self.path).filter { $0.key.hasPrefix("damaged-") }
      if !kept.values.contains(journal) { return "the damaged journal was not kept" }
    }
    return try problemOfWriting(writer.store, writer.key, found, environment, isThorough)
  }

  /// Writes on where the crash stopped: nothing that was left behind may be in the way.
  private func problemOfWriting(
    _ writer: SealedFileStore, _ key: RawKey, _ found: [String: String],
    _ environment: StoreEnvironment, _ isThorough: Bool
  ) throws(StoreError) -> String? {
    try writer.put("after", as: "after")
    let again = try open(key, environment)
    let identifiers = Set(try again.keys(in: nil).map(\.identifier))
    if try again.text("after") != "after" || identifiers != Set(found.keys).union(["after"]) {
      return "wrote \(identifiers)"
    }
    guard isThorough else { return nil }
    var items = try again.texts()
    items["after"] = nil
    if items != found { return "wrote \(items)" }
    let findings = try again.verify().findings.filter { $0.place != .files }
    return findings.isEmpty ? nil : "\(findings)"
  }

  /// A creation that was not confirmed can be done again, or has made a store.
  private func problemOfUnfinishedCreation(
    _ environment: StoreEnvironment, _ isThorough: Bool
  ) throws -> String? {
    guard let key = life.keys["first"] else { return "no key" }
    let outcome = try code {
      _ = try SealedFileStore.create(
        at: Self.path, key: key, options: .init(), environment: environment)
    }
    guard outcome == nil || outcome == StoreError.alreadyExists else { return "\(outcome as Any)" }
    let store = try open(key, environment)
    let items = try store.texts()
    if !items.isEmpty { return "items in a new store" }
    return try problemOfWriting(store, key, items, environment, isThorough)
  }

  private func openUnlessRefused(
    _ key: RawKey, _ environment: StoreEnvironment
  ) throws(StoreError) -> SealedFileStore? {
    do throws(StoreError) {
      return try open(key, environment)
    } catch let error where error.code == StoreError.wrongKey {
      return nil
    }
  }

  private func open(
    _ key: RawKey, _ environment: StoreEnvironment
  ) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.open(at: Self.path, key: key, options: .init(), environment: environment)
  }
}
