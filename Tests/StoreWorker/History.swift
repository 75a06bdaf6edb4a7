import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestSupport

/// `history DIRECTORY KEYFILE CLIENT COUNT OUTPUT`: that many operations on the shared items,
/// each with its two moments, into one file of the output directory for every group of items.
///
/// Of a thousand, 600 read a value, 300 ask for one, 50 list a group, 25 change several items of
/// a group, 15 put one and 10 remove one: a change waits for the disk, and for all other writers.
func recordHistory() throws {
  var recorder = try HistoryRecorder(client: number(3))
  for count in 0..<number(4) {
    // What is seen after opening anew is part of the history as well.
    if count.isMultiple(of: 2000) { recorder.store = try openStore() }
    try recorder.makeOperation()
  }
  for (group, operations) in recorder.operations.enumerated() {
    try HistoryFile.write(
      operations, to: URL(filePath: argument(5)).appending(path: "\(argument(3))-\(group)"))
  }
  say("done")
}

private struct HistoryRecorder {
  var store: SealedFileStore
  var operations = [[HistoryOperation]](repeating: [], count: SharedItems.groupCount)
  private var lastNumber: UInt64
  private var random: SeededGenerator

  /// Numbers of values begin with the client, so that no two are the same.
  init(client: Int) throws {
    store = try openStore()
    lastNumber = UInt64(client + 1) << 40
    random = SeededGenerator(seed: UInt64(client))
  }

  mutating func makeOperation() throws {
    let group = Int.random(in: 0..<SharedItems.groupCount, using: &random)
    let item = Int.random(in: 0..<GroupState.scalarCount, using: &random)
    switch Int.random(in: 0..<1000, using: &random) {
    case ..<600:
      let key = try SharedItems.key(group: group, item: item)
      try record(group, .observation) { store in [item: try Self.number(store.value(for: key))] }
    case ..<900:
      let key = try SharedItems.key(group: group, item: item)
      try record(group, .observation) { store in [item: Self.word(try store.contains(key))] }
    case ..<950:
      let namespace = try SharedItems.namespace(group: group)
      let keys = try (0..<GroupState.scalarCount).map {
        try SharedItems.key(group: group, item: $0)
      }
      try record(group, .observation) { store in
        let listed = try store.keys(in: namespace)
        return Dictionary(
          uniqueKeysWithValues: keys.enumerated().map { ($0, Self.word(listed.contains($1))) })
      }
    case ..<975:
      let count = Int.random(in: 2...GroupState.scalarCount, using: &random)
      let items = (0..<GroupState.scalarCount).shuffled(using: &random).prefix(count)
      let removed = items.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
      try change(group, putting: items.filter { !removed.contains($0) }, removing: removed)
    case ..<990: try change(group, putting: [item], removing: [])
    default: try change(group, putting: [], removing: [item])
    }
  }

  /// All values of one change have the same number: it is theirs alone.
  private mutating func change(_ group: Int, putting: [Int], removing: [Int]) throws {
    lastNumber += 1
    let number = lastNumber
    let value = SharedItems.value(number)
    let changes =
      try putting.map { StoreChange.put(value, for: try SharedItems.key(group: group, item: $0)) }
      + removing.map { StoreChange.remove(try SharedItems.key(group: group, item: $0)) }
    try record(group, .change) { store in
      try store.apply(changes)
      return Dictionary(
        uniqueKeysWithValues: putting.map { ($0, number) }
          + removing.map { ($0, ItemWord.absent) })
    }
  }

  private mutating func record(
    _ group: Int, _ kind: HistoryOperation.Kind, _ body: (SealedFileStore) throws -> [Int: UInt64]
  ) throws {
    let invoked = now()
    let words = try body(store)
    let responded = now()
    var items = GroupState(repeating: ItemWord.untouched)
    for (item, word) in words { items[item] = word }
    operations[group].append(HistoryOperation(kind, items, invoked: invoked, responded: responded))
  }

  private static func word(_ isPresent: Bool) -> UInt64 {
    isPresent ? ItemWord.present : ItemWord.absent
  }

  private static func number(_ value: SecretBytes?) -> UInt64 {
    guard let value else { return ItemWord.absent }
    guard let number = SharedItems.number(of: value) else { fail("a value that nobody put") }
    return number
  }
}

/// The system's monotonic clock, which is the same for all processes, in nanoseconds.
private func now() -> UInt64 {
  var time = timespec()
  guard unsafe clock_gettime(CLOCK_MONOTONIC, &time) == 0 else { fail("no clock") }
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// `rewrite DIRECTORY KEYFILE compact|rotate`: rewrites the journal again and again, until its
/// input ends, and says how often.
///
/// Between two, it reads as often as gives writers their turn.
func rewriteUntilInputEnds() throws {
  let store = try openStore()
  let key = try SharedItems.key(group: 0, item: 0)
  var count = 0
  say("ready")
  while !isToldToStop {
    if argument(3) == "rotate" { try store.rotate() } else { try store.compact() }
    count += 1
    for _ in 0..<2000 where !isToldToStop { _ = try store.value(for: key) }
  }
  say("\(count)")
}
