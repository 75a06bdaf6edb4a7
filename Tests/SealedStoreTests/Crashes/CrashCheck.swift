import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// The conditions that a store must meet after a crash.
struct CrashCheck: Sendable {
  let life: CrashLife

  /// Checks a store and returns a description of the first problem, or `nil`.
  ///
  /// - Parameters:
  ///   - content: The files found, or `nil` if not even the directory exists.
  ///   - allowed: The moments of the life that may be found.
  ///   - isThorough: Whether every record is verified too, before and after more writing.
  /// - Returns: A description for people.
  func problem(
    with content: RecordedDisk.Content?, allowed: ClosedRange<Int>, isThorough: Bool
  ) -> String? {
    do {
      let disk = try content.map { try MemoryFileSystem(CrashLife.path, $0) } ?? MemoryFileSystem()
      let environment = StoreEnvironment(fileSystem: disk, repairLease: .zero)
      let problem =
        life.moments[allowed.lowerBound].keys.isEmpty
        ? try problemOfUnfinishedCreation(environment, isThorough)
        : try problem(environment, allowed, on: disk, content ?? [:], isThorough)
      if let problem { return problem }
      if disk.descriptorCount > 0 { return "\(disk.descriptorCount) descriptors are left open" }
      return disk.lockCount > 0 ? "\(disk.lockCount) locks are left" : nil
    } catch {
      return "\(error) \(content?.mapValues(\.count) ?? [:])"
    }
  }

  private func problem(
    _ environment: StoreEnvironment, _ allowed: ClosedRange<Int>, on disk: MemoryFileSystem,
    _ content: RecordedDisk.Content, _ isThorough: Bool
  ) throws -> String? {
    let moments = life.moments[allowed]
    let isDamaged = moments.contains { $0.items == nil }
    let notices = Notices()
    let mustOpen = moments.dropFirst().reduce(life.moments[allowed.lowerBound].keys) {
      $0.intersection($1.keys)
    }
    let mayOpen = moments.reduce([] as Set) { $0.union($1.keys) }
    var found: [String: String]?
    var writer: (store: SealedFileStore, key: RawKey)?
    for name in life.keys.keys.sorted() {
      // Keys that never open are tried if a key is added or removed.
      guard let key = life.keys[name], mayOpen.contains(name) || life.changesKeys else { continue }
      guard let store = try openUnlessRefused(key, environment, notices) else {
        if mustOpen.contains(name) { return "\(name) does not open \(moments.map(\.keys))" }
        continue
      }
      guard mayOpen.contains(name) else { return "\(name) opens again" }
      // A store that was damaged before is repaired, whether or not an earlier repair was finished.
      if isDamaged { _ = try store.repair() }
      let items = try store.texts()
      if let found, found != items { return "\(name) finds different items" }
      found = items
      writer = (store, key)
    }
    guard let found, let writer else { return "no key opens" }
    if isThorough {
      let report = try writer.store.verify()
      if !report.isSound { return "not sound: \(report.findings)" }
    }
    if !life.items(in: allowed).contains(found) {
      return "found \(found.mapValues { $0.prefix(8) }), which is not in \(allowed)"
    }
    if let problem = problem(with: found, notices.all, in: content, mayBeDamaged: isDamaged) {
      return problem
    }
    if let journal = life.damagedJournal {
      let kept = try disk.content(of: CrashLife.path).filter { $0.key.hasPrefix("damaged-") }
      if !kept.values.contains(journal) { return "the damaged journal was not kept" }
    }
    return try problemOfWriting(writer.store, writer.key, found, environment, isThorough)
  }

  /// Returns a difference from the result that the commit protocol requires for these files.
  private func problem(
    with found: [String: String], _ notices: [StoreNotice], in content: RecordedDisk.Content,
    mayBeDamaged: Bool
  ) -> String? {
    guard let judge = life.judge else { return nil }
    guard let verdict = judge.verdict(on: content) else {
      return mayBeDamaged ? nil : "by the protocol the store is damaged"
    }
    if let items = verdict.items, items != found {
      return "found \(found.mapValues { $0.prefix(8) }) instead of "
        + "\(items.mapValues { $0.prefix(8) })"
    }
    guard !mayBeDamaged else { return nil }
    var expected: Set<StoreNotice> = []
    if verdict.isFinished { expected.insert(.interruptedChangeFinished) }
    if verdict.droppedByteCount > 0 {
      expected.insert(.unfinishedWriteDropped(byteCount: verdict.droppedByteCount))
    }
    let reported = notices.filter { notice in
      switch notice {
      case .interruptedChangeFinished, .unfinishedWriteDropped: true
      default: false
      }
    }
    return Set(reported) == expected ? nil : "notices are \(reported) instead of \(expected)"
  }

  /// Writes to the store after the crash.
  ///
  /// The remains of the crash must not interfere, and changes that did not count must not return.
  private func problemOfWriting(
    _ writer: SealedFileStore, _ key: RawKey, _ found: [String: String],
    _ environment: StoreEnvironment, _ isThorough: Bool
  ) throws(StoreError) -> String? {
    try writer.put("after", as: "after")
    let again = try open(key, environment)
    var items = try again.texts()
    guard items.removeValue(forKey: "after") == "after", items == found else {
      return "wrote \(items.mapValues { $0.prefix(8) })"
    }
    guard isThorough else { return nil }
    let findings = try again.verify().findings.filter { $0.part != .files }
    return findings.isEmpty ? nil : "\(findings)"
  }

  /// Checks that an unconfirmed creation can be repeated, or has created a store.
  private func problemOfUnfinishedCreation(
    _ environment: StoreEnvironment, _ isThorough: Bool
  ) throws -> String? {
    guard let key = life.keys["first"] else { return "no key" }
    let outcome = try code {
      _ = try SealedFileStore.create(
        at: CrashLife.path, key: key, options: .init(), environment: environment)
    }
    guard outcome == nil || outcome == StoreError.alreadyExists else { return "\(outcome as Any)" }
    let store = try open(key, environment)
    let items = try store.texts()
    if !items.isEmpty { return "items in a new store" }
    return try problemOfWriting(store, key, items, environment, isThorough)
  }

  private func openUnlessRefused(
    _ key: RawKey, _ environment: StoreEnvironment, _ notices: Notices
  ) throws(StoreError) -> SealedFileStore? {
    do throws(StoreError) {
      return try open(key, environment, notices)
    } catch let error where error.code == .wrongKey {
      return nil
    }
  }

  private func open(
    _ key: RawKey, _ environment: StoreEnvironment, _ notices: Notices? = nil
  ) throws(StoreError) -> SealedFileStore {
    var options = SealedFileStore.Options()
    if let notices { options.onNotice = { notices.add($0) } }
    return try SealedFileStore.open(
      at: CrashLife.path, key: key, options: options, environment: environment)
  }
}
