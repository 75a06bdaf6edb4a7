import SealedStore
import SessionToolsBase
import StoreTestSupport

/// A journal that somebody with or without the keys made, opened, read, changed and repaired.
enum JournalTarget {
  private static let largestJournalByteCount = 64 << 10

  static func check(_ bytes: [UInt8]) throws {
    var input = FuzzInput(bytes)
    let choice = input.byte()
    var journal = JournalBuilder()
    while !input.isEmpty, journal.bytes.count < largestJournalByteCount {
      journal.perform(&input)
    }
    let files = KnownStore.files(journal: journal.bytes, mark: journal.mark)
    let judgement = JournalJudgement(journal.bytes, mark: journal.mark)
    let isListed = try checkReading(files, judgement, journal.items)
    // One of them, because each costs as much as the rest.
    if choice & 1 == 0 {
      try checkWriting(files, isListed: isListed)
    } else {
      try checkRepair(files, journal.items)
    }
  }

  /// - Returns: Whether the items could be listed.
  private static func checkReading(
    _ files: [String: [UInt8]], _ judgement: JournalJudgement, _ sealed: Set<JournalBuilder.Item>
  ) throws -> Bool {
    let disk = try KnownStore.disk(files)
    let store = try KnownStore.open(disk)
    let contents = try contents(of: store)
    let expected = judgement.items.values.compactMap(\.self)
    let isSound =
      judgement.isUsable && !judgement.isDamaged && expected.count == judgement.items.count
    try require((contents != nil) == isSound, "sound: \(isSound), and listed as the opposite")
    if let contents { try require(contents == Set(expected), "\(contents) is not what was put") }
    for key in JournalBuilder.keys {
      var value: [UInt8]?
      let isTold = try succeeds { () throws(StoreError) in
        value = try store.value(for: key)?.copyBytes()
      }
      guard isTold else { continue }
      guard let value else {
        try require(
          judgement.isUsable && !judgement.isDamaged, "\(key) is called absent in a damaged journal"
        )
        continue
      }
      try require(sealed.contains(.init(key: key, value: value)), "\(key) was never \(value)")
    }
    _ = try succeeds { () throws(StoreError) in
      let report = try store.verify()
      if report.isSound { _ = try store.keys(in: nil) }
    }
    try require(try KnownStore.files(of: disk) == files, "reading changed something")
    return contents != nil
  }

  private static func checkWriting(_ files: [String: [UInt8]], isListed: Bool) throws {
    let disk = try KnownStore.disk(files)
    let store = try KnownStore.open(disk)
    let before = try contents(of: store)
    let (key, value) = (JournalBuilder.keys[1], Array("new".utf8))
    guard
      try succeeds({ () throws(StoreError) in try store.put(SecretBytes(value), for: key) })
    else {
      try require(!isListed, "a journal in order could not be written")
      return try require(
        try KnownStore.files(of: disk) == files, "a refused change changed something")
    }
    for store in [store, try KnownStore.open(disk)] {
      try require(try store.value(for: key)?.copyBytes() == value, "another value than was put")
      guard let before else { continue }
      let others = before.filter { $0.key != key }
      try require(
        try contents(of: store) == others.union([.init(key: key, value: value)]),
        "a change changed other items")
    }
  }

  private static func checkRepair(
    _ files: [String: [UInt8]], _ sealed: Set<JournalBuilder.Item>
  ) throws {
    let disk = try KnownStore.disk(files)
    let store = try KnownStore.open(disk)
    let before = try contents(of: store)
    guard
      try succeeds({ () throws(StoreError) in _ = try store.repair() })
    else { return try require(before == nil, "a journal in order could not be repaired") }
    let reopened = try KnownStore.open(disk)
    let report = try reopened.verify()
    try require(report.isSound, "damaged after a repair: \(report.findings)")
    guard let after = try contents(of: reopened) else {
      throw Finding("a repaired journal cannot be listed")
    }
    try require(after.isSubset(of: sealed), "repaired into something that was never put")
    if let before { try require(before == after, "a repair changed a journal in order") }
  }

  /// All items; `nil` when they are not told.
  private static func contents(of store: SealedFileStore) throws -> Set<JournalBuilder.Item>? {
    var items: Set<JournalBuilder.Item> = []
    let isListed = try succeeds { () throws(StoreError) in
      for key in try store.keys(in: nil) {
        guard let value = try store.value(for: key) else { continue }
        items.insert(.init(key: key, value: value.copyBytes()))
      }
    }
    return isListed ? items : nil
  }

  /// Whether an operation succeeds; a failure must be one that a journal can be the reason of.
  private static func succeeds(_ body: () throws(StoreError) -> Void) throws -> Bool {
    guard let code = code(body) else { return true }
    try require(
      code == StoreError.corrupt || code == StoreError.unsupportedVersion,
      "\(code) because of a journal")
    return false
  }
}
