import Glibc
package import SessionToolsBase
import SessionToolsTestSupport

/// A maker of random operations on the shared items, which records each with its two moments.
///
/// Of 1,000 operations, 600 read a value, 300 ask whether there is one, 50 list a group, 25 change
/// several items of a group, 15 put one item and 10 remove one. Changes are few because each waits
/// for the disk and for all other writers.
package struct HistoryRecorder {
  /// A value that no client put.
  private struct ForeignValue: Error {}

  /// The operations so far, for each group.
  ///
  /// A change whose outcome is unknown never ends.
  package private(set) var operations = [[HistoryOperation]](
    repeating: [], count: SharedItems.groupCount)
  private let now: () -> UInt64
  private let willChange: (Int, HistoryOperation) -> Void
  private var lastNumber: UInt64
  private var random: SeededGenerator

  /// Creates a recorder whose values begin with the client's number, so that no two clients put the
  /// same value.
  ///
  /// - Parameters:
  ///   - client: The client's number.
  ///   - seed: The seed of the random choices; by default, the client's number.
  ///   - now: A clock that all clients share.
  ///   - willChange: A closure that is called before each change, with the group and the change as
  ///     it is noted if it never ends.
  package init(
    client: Int, seed: UInt64? = nil, now: @escaping () -> UInt64 = monotonicTime,
    willChange: @escaping (Int, HistoryOperation) -> Void = { _, _ in }
  ) {
    self.now = now
    self.willChange = willChange
    lastNumber = UInt64(client + 1) << 40
    random = SeededGenerator(seed: seed ?? UInt64(client))
  }

  /// Makes the next operation.
  ///
  /// - Throws: What the store throws.
  package mutating func makeOperation(with store: some SecretStore) throws {
    let group = Int.random(in: 0..<SharedItems.groupCount, using: &random)
    let item = Int.random(in: 0..<GroupState.scalarCount, using: &random)
    switch Int.random(in: 0..<1000, using: &random) {
    case ..<600:
      let name = try SharedItems.name(group: group, item: item)
      try observe(group) { [item: try Self.number(store.value(for: name))] }
    case ..<900:
      let name = try SharedItems.name(group: group, item: item)
      try observe(group) { [item: Self.word(try store.contains(name))] }
    case ..<950:
      let namespace = try SharedItems.namespace(group: group)
      let names = try (0..<GroupState.scalarCount).map {
        try SharedItems.name(group: group, item: $0)
      }
      try observe(group) {
        let listed = try store.names(in: namespace)
        return Dictionary(
          uniqueKeysWithValues: names.enumerated().map { ($0, Self.word(listed.contains($1))) })
      }
    case ..<975:
      let count = Int.random(in: 2...GroupState.scalarCount, using: &random)
      let items = (0..<GroupState.scalarCount).shuffled(using: &random).prefix(count)
      let removed = items.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
      try change(
        group, in: store, putting: items.filter { !removed.contains($0) }, removing: removed)
    case ..<990: try change(group, in: store, putting: [item], removing: [])
    default: try change(group, in: store, putting: [], removing: [item])
    }
  }

  /// Changes items, giving all values of the change the same number, which no other change has.
  private mutating func change(
    _ group: Int, in store: some SecretStore, putting: [Int], removing: [Int]
  ) throws {
    lastNumber += 1
    let number = lastNumber
    let value = SharedItems.value(number)
    let changes =
      try putting.map { StoreChange.put(value, for: try SharedItems.name(group: group, item: $0)) }
      + removing.map { StoreChange.remove(try SharedItems.name(group: group, item: $0)) }
    let words = Dictionary(
      uniqueKeysWithValues: putting.map { ($0, number) } + removing.map { ($0, ItemWord.absent) })
    let invoked = now()
    willChange(group, Self.operation(.change, words, invoked: invoked, responded: .max))
    do {
      try store.apply(changes)
      note(group, .change, words, invoked: invoked, responded: now())
    } catch {
      if error.code == .outcomeUnknown {
        note(group, .change, words, invoked: invoked, responded: .max)
      }
      throw error
    }
  }

  private mutating func observe(_ group: Int, _ body: () throws -> [Int: UInt64]) throws {
    let invoked = now()
    let words = try body()
    note(group, .observation, words, invoked: invoked, responded: now())
  }

  private mutating func note(
    _ group: Int, _ kind: HistoryOperation.Kind, _ words: [Int: UInt64], invoked: UInt64,
    responded: UInt64
  ) {
    operations[group].append(
      Self.operation(kind, words, invoked: invoked, responded: responded))
  }

  private static func operation(
    _ kind: HistoryOperation.Kind, _ words: [Int: UInt64], invoked: UInt64, responded: UInt64
  ) -> HistoryOperation {
    var items = GroupState(repeating: ItemWord.untouched)
    for (item, word) in words { items[item] = word }
    return HistoryOperation(kind, items, invoked: invoked, responded: responded)
  }

  private static func word(_ isPresent: Bool) -> UInt64 {
    isPresent ? ItemWord.present : ItemWord.absent
  }

  private static func number(_ value: SecretBytes?) throws -> UInt64 {
    guard let value else { return ItemWord.absent }
    guard let number = SharedItems.number(of: value) else { throw ForeignValue() }
    return number
  }
}

/// Reads the system's monotonic clock, which is the same for all processes, in nanoseconds.
package func monotonicTime() -> UInt64 {
  var time = timespec()
  guard unsafe clock_gettime(CLOCK_MONOTONIC, &time) == 0 else {
    preconditionFailure("the system has a clock")
  }
  return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}
