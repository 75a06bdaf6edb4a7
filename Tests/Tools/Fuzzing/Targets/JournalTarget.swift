import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// A journal, made with or without the keys, that is opened, read, changed and repaired.
enum JournalTarget {
  private static let maximumJournalByteCount = 64 << 10

  static func check(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choice = input.byte()
    var journal = JournalBuilder()
    while !input.isEmpty, journal.bytes.count < maximumJournalByteCount {
      journal.perform(&input)
    }
    let files = KnownStore.files(journal: journal.bytes, mark: journal.mark)
    let judgement = JournalJudgement(journal.bytes, mark: journal.mark)
    try checkReading(files, judgement)
    // Only one of the two, because each costs as much as everything else.
    if choice & 1 == 0 {
      try checkWriting(files, judgement)
    } else {
      try checkRepair(files, journal.items)
    }
  }

  private static func checkReading(
    _ files: [String: [UInt8]], _ judgement: JournalJudgement
  ) throws {
    let disk = try KnownStore.disk(files)
    let store = try KnownStore.open(disk)
    let contents = try contents(of: store)
    let items = judgement.newest.values.filter { !$0.isRemoved }
    let expected = items.compactMap { item in
      item.name.flatMap { name in item.value.map { JournalBuilder.Item(name: name, value: $0) } }
    }
    let isListed = !judgement.isDamaged && expected.count == items.count
    try require((contents != nil) == isListed, "valid: \(isListed), but listed: \(!isListed)")
    if let contents { try require(contents == Set(expected), "\(contents) was never put") }
    for name in JournalBuilder.names { try check(store, name, judgement) }
    _ = try succeeds { () throws(StoreError) in
      let report = try store.verify()
      if report.isSound { _ = try store.names(in: nil) }
    }
    try checkRecovery(files, try KnownStore.files(of: disk), judgement)
  }

  /// Checks that a store returns the required result for an item.
  private static func check(
    _ store: SealedFileStore, _ name: ItemName, _ judgement: JournalJudgement
  ) throws {
    let tag = KnownStore.tag(of: name.canonicalBytes)
    let newest = judgement.newest[tag]
    let isAbsent = newest?.isRemoved ?? true
    let isCertain = !judgement.isDamaged || judgement.certainTags.contains(tag)
    var value: [UInt8]?
    let isAnswered = try succeeds { () throws(StoreError) in
      value = try store.value(for: name)?.copyBytes()
    }
    try require(
      isAnswered == (isCertain && (isAbsent || newest?.value != nil)),
      "\(name) is readable: \(isAnswered), but should be: \(!isAnswered)")
    guard isAnswered else { return }
    try require(value == (isAbsent ? nil : newest?.value), "\(name) is not \(value as Any)")
  }

  /// Checks that opening writes only the recovered changes.
  private static func checkRecovery(
    _ before: [String: [UInt8]], _ after: [String: [UInt8]], _ judgement: JournalJudgement
  ) throws {
    guard judgement.isRecovered, !judgement.isDamaged else {
      return try require(before == after, "reading changed something")
    }
    for (name, content) in before where !["journal", "mark"].contains(name) {
      try require(after[name] == content, "opening changed \(name)")
    }
    let journal = after["journal"] ?? []
    try require(
      before["journal"]?.prefix(judgement.byteCount) == journal.prefix(judgement.byteCount),
      "opening changed records that count")
    let again = JournalJudgement(journal, mark: after["mark"])
    try require(!again.isDamaged && !again.isRecovered, "opening left changes unrecovered")
  }

  private static func checkWriting(
    _ files: [String: [UInt8]], _ judgement: JournalJudgement
  ) throws {
    let disk = try KnownStore.disk(files)
    let store = try KnownStore.open(disk)
    let before = try contents(of: store)
    let (name, value) = (JournalBuilder.names[1], Array("new".utf8))
    guard
      try succeeds({ () throws(StoreError) in try store.put(SecretBytes(value), for: name) })
    else {
      try require(judgement.isDamaged, "an undamaged journal could not be written")
      return try require(
        try KnownStore.files(of: disk) == files, "a refused change changed something")
    }
    try require(!judgement.isDamaged, "a damaged journal was written")
    for store in [store, try KnownStore.open(disk)] {
      try require(try store.value(for: name)?.copyBytes() == value, "not the value that was put")
      guard let before else { continue }
      let others = before.filter { $0.name != name }
      try require(
        try contents(of: store) == others.union([.init(name: name, value: value)]),
        "a change changed other items")
    }
  }

  private static func checkRepair(
    _ files: [String: [UInt8]], _ sealed: Set<JournalBuilder.Item>
  ) throws {
    let disk = try KnownStore.disk(files)
    let store = try KnownStore.open(disk)
    let before = try contents(of: store)
    let readable = try readableItems(of: store)
    guard
      try succeeds({ () throws(StoreError) in _ = try store.repair() })
    else {
      return try require(
        before == nil && readable.isEmpty, "a readable journal could not be repaired")
    }
    let reopened = try KnownStore.open(disk)
    let report = try reopened.verify()
    try require(report.isSound, "damaged after a repair: \(report.findings)")
    guard let after = try contents(of: reopened) else {
      throw Finding("a repaired journal cannot be listed")
    }
    // The values of items whose names do not open get new names.
    let recovered = after.filter { $0.name.namespace.service == "recovered" }
    try require(
      after.subtracting(recovered).isSubset(of: sealed)
        && Set(recovered.map(\.value)).isSubset(of: sealed.map(\.value)),
      "a repair kept items that were never put")
    for item in readable where !after.contains(item) {
      try require(
        recovered.contains { $0.value == item.value }, "\(item) was readable, and is gone")
    }
    if let before { try require(before == after, "a repair changed an undamaged journal") }
  }

  /// Returns the items that can be read one by one, whether or not the store can be listed.
  private static func readableItems(of store: SealedFileStore) throws -> Set<JournalBuilder.Item> {
    var items: Set<JournalBuilder.Item> = []
    for name in JournalBuilder.names {
      _ = try succeeds { () throws(StoreError) in
        guard let value = try store.value(for: name) else { return }
        items.insert(.init(name: name, value: value.copyBytes()))
      }
    }
    return items
  }

  /// Returns all items, or `nil` if they cannot be listed.
  private static func contents(of store: SealedFileStore) throws -> Set<JournalBuilder.Item>? {
    var items: Set<JournalBuilder.Item> = []
    let isListed = try succeeds { () throws(StoreError) in
      for name in try store.names(in: nil) {
        guard let value = try store.value(for: name) else { continue }
        items.insert(.init(name: name, value: value.copyBytes()))
      }
    }
    return isListed ? items : nil
  }

  /// Returns whether an operation succeeds; the cause of a failure must be the journal.
  private static func succeeds(_ body: () throws(StoreError) -> Void) throws -> Bool {
    guard let code = code(body) else { return true }
    try require(
      code == StoreError.corrupt || code == StoreError.unsupportedVersion,
      "\(code) because of a journal")
    return false
  }
}
