import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests that the checker refuses histories that no order explains.
@Suite(.onOwnThread) struct LinearizabilityCheckerTests {
  private typealias Words = [Int: UInt64]

  private func change(_ items: Words, _ from: UInt64, _ to: UInt64) -> HistoryOperation {
    operation(.change, items, from, to)
  }

  private func seen(_ items: Words, _ from: UInt64, _ to: UInt64) -> HistoryOperation {
    operation(.observation, items, from, to)
  }

  private func operation(
    _ kind: HistoryOperation.Kind, _ words: Words, _ from: UInt64, _ to: UInt64
  ) -> HistoryOperation {
    var items = GroupState(repeating: ItemWord.untouched)
    for (item, word) in words { items[item] = word }
    return HistoryOperation(kind, items, invoked: from, responded: to)
  }

  private func isExplained(_ history: HistoryOperation...) -> Bool {
    LinearizabilityChecker.violation(in: history) == nil
  }

  private let none = ItemWord.absent
  private let some = ItemWord.present

  @Test func `a read that sees the last write, or nothing before the first write, is explained`() {
    #expect(
      isExplained(
        seen([0: none], 1, 2), change([0: 5], 3, 4), seen([0: 5], 5, 6), change([0: none], 7, 8),
        seen([0: none], 9, 10), seen([0: none, 1: none], 11, 12)))
  }

  @Test func `a stale read is refused`() throws {
    let stale = seen([0: 5], 7, 8)
    let history = [change([0: 5], 1, 2), change([0: 6], 3, 4), seen([0: 6], 5, 6), stale]
    let violation = try #require(LinearizabilityChecker.violation(in: history))
    #expect(violation.operation == stale)
    #expect(violation.states == [GroupState(6, 0, 0, 0)])
    // The same read is right while the second write is in progress.
    #expect(isExplained(change([0: 5], 1, 2), change([0: 6], 3, 9), stale))
  }

  @Test func `a stale read after a newer read during the same write is refused`() {
    let put = change([0: 5], 1, 100)
    #expect(isExplained(put, seen([0: none], 2, 3), seen([0: 5], 4, 5)))
    #expect(!isExplained(put, seen([0: 5], 2, 3), seen([0: none], 4, 5)))
  }

  @Test func `a lost write is refused`() {
    #expect(!isExplained(change([0: 5], 1, 2), seen([0: none], 3, 4)))
    #expect(!isExplained(change([0: 5], 1, 4), change([0: 6], 2, 3), seen([0: none], 5, 6)))
    #expect(isExplained(change([0: 5], 1, 4), change([0: 6], 2, 3), seen([0: 5], 5, 6)))
  }

  @Test func `a removed item that returns is refused`() {
    #expect(!isExplained(change([0: 5], 1, 2), change([0: none], 3, 4), seen([0: some], 5, 6)))
    #expect(!isExplained(change([0: 5], 1, 2), change([0: none], 3, 4), seen([0: 5], 5, 6)))
  }

  @Test func `a value that was never written, or not yet written, is refused`() {
    #expect(!isExplained(change([0: 5], 1, 2), seen([0: 7], 3, 4)))
    #expect(!isExplained(seen([0: 5], 1, 2), change([0: 5], 3, 4)))
  }

  @Test func `a torn change is refused, in one read and in two`() {
    let before = change([0: 1, 1: 2], 1, 2)
    let both = change([0: 5, 1: 5], 3, 20)
    #expect(!isExplained(before, both, seen([0: 5, 1: 2], 4, 5)))
    #expect(!isExplained(before, both, seen([0: 5], 4, 5), seen([1: 2], 6, 7)))
    #expect(isExplained(before, both, seen([0: 5], 4, 5), seen([1: 5], 6, 7)))
    // Overlapping reads may have been in either order.
    #expect(isExplained(before, both, seen([0: 5], 4, 7), seen([1: 2], 5, 6)))
    let swap = change([0: none, 1: 9], 3, 20)
    #expect(!isExplained(change([0: 1], 1, 2), swap, seen([0: some, 1: some], 4, 5)))
    #expect(!isExplained(change([0: 1], 1, 2), swap, seen([0: none, 1: none], 4, 5)))
  }

  @Test func `changes of several items that two readers see in different orders are refused`() {
    let first = change([0: 5], 1, 20)
    let second = change([1: 6], 1, 20)
    #expect(
      !isExplained(
        first, second, seen([0: 5], 2, 3), seen([1: none], 4, 5), seen([1: 6], 2, 3),
        seen([0: none], 4, 5)))
  }

  /// Compares the checker with a trivial algorithm that tries every order.
  @Test func `the checker and trying every order agree about random histories`() {
    var random = SeededGenerator(seed: 1)
    var counts: [Bool: Int] = [:]
    for _ in 0..<3000 {
      let history = randomHistory(&random)
      let isExplained = LinearizabilityChecker.violation(in: history) == nil
      #expect(isExplained == hasOrder(history, from: .zero), "\(history)")
      counts[isExplained, default: 0] += 1
    }
    #expect(counts.values.allSatisfy { $0 > 300 } && counts.count == 2, "\(counts)")
  }

  private func randomHistory(_ random: inout SeededGenerator) -> [HistoryOperation] {
    let words: [UInt64] = [none, 1, 2, 3]
    return (0..<Int.random(in: 3...6, using: &random)).map { _ in
      let kind: HistoryOperation.Kind = Bool.random(using: &random) ? .change : .observation
      var items: Words = [:]
      for item in 0..<2 where items.isEmpty || Bool.random(using: &random) {
        let word = words.randomElement(using: &random) ?? none
        items[item] = kind == .observation && word == 3 ? some : word
      }
      let from = UInt64.random(in: 1...20, using: &random)
      return operation(kind, items, from, from + UInt64.random(in: 1...10, using: &random))
    }
  }

  private func hasOrder(_ rest: [HistoryOperation], from state: GroupState) -> Bool {
    if rest.isEmpty { return true }
    let firstResponse = rest.map(\.responded).min() ?? 0
    return rest.indices.contains { index in
      var others = rest
      let operation = others.remove(at: index)
      guard operation.invoked <= firstResponse else { return false }
      return switch operation.kind {
      case .change: hasOrder(others, from: operation.applied(to: state))
      case .observation: operation.agrees(with: state) && hasOrder(others, from: state)
      }
    }
  }
}
