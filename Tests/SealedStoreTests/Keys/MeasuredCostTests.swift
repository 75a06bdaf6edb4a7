import Foundation
import SealedStore
import SessionToolsBase
import Synchronization
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Tests of the default cost of a new passphrase slot.
@Suite(.onOwnThread) struct MeasuredCostTests {
  @Test func `the cost of a new slot is measured, at least 64 MiB and three passes`() throws {
    let slot = try Passphrase("measured").makeSlot()
    guard case .passphrase(let parameters) = slot.parameters else {
      Issue.record("\(slot.parameters) is no passphrase")
      return
    }
    #expect(3...10 ~= parameters.passes)
    #expect([64 << 20, 128 << 20, 256 << 20].contains(parameters.memoryByteCount))
    #expect(parameters.salt.count == 16)
    #expect(
      try Passphrase.cheap("a").makeSlot().parameters != Passphrase.cheap("a").makeSlot().parameters
    )
  }

  @Test func `a busy machine does not choose a weaker slot`() throws {
    let idle = try #require(try MeasuredCost.measured().first)
    let isDone = Atomic(false)
    let count = 3 * ProcessInfo.processInfo.activeProcessorCount
    let threads = (0..<count).map { _ in
      Thread { while !isDone.load(ordering: .relaxed) {} }
    }
    threads.forEach { $0.start() }
    defer { isDone.store(true, ordering: .relaxed) }
    let busy = try #require(try MeasuredCost.measured().first)
    #expect(busy.memoryByteCount == idle.memoryByteCount)
    // The cost is between half and twice; it is not the same, because the processor's caches are
    // shared.
    #expect(busy.passes < 2 * idle.passes)
    #expect(idle.passes < 2 * busy.passes)
  }

  /// The milliseconds of three passes over 64 MiB, and the passes over 64, 128 and 256 MiB that
  /// take about a second.
  static let measurements: [(trial: Int, passes: [Int])] = [
    (0, [10, 10, 10]), (10, [10, 10, 10]), (75, [10, 10, 10]), (79, [10, 10, 9]),
    (94, [10, 10, 8]), (125, [10, 10, 6]), (150, [10, 10, 5]), (187, [10, 8, 4]),
    (215, [10, 7, 3]), (300, [10, 5, 3]), (500, [6, 3, 3]), (850, [4, 3, 3]), (1000, [3, 3, 3]),
    (60_000, [3, 3, 3]),
  ]

  @Test(arguments: measurements)
  func `a new slot takes as many passes as take a second`(trial: Int, passes: [Int]) {
    let costs = MeasuredCost.costs(trial: .milliseconds(trial), availableByteCount: nil)
    #expect(costs.map(\.memoryByteCount) == [256 << 20, 128 << 20, 64 << 20])
    #expect(costs.map(\.passes) == passes.reversed())
  }

  static let memories: [(available: Int, taken: Int)] = [
    (Int.max, 256), (1 << 30, 256), ((1 << 30) - 1, 128), (512 << 20, 128), ((512 << 20) - 1, 64),
    (256 << 20, 64), (1, 64), (0, 64), (-1, 64),
  ]

  @Test(arguments: memories)
  func `a new slot takes at most a quarter of the available memory`(available: Int, taken: Int) {
    let costs = MeasuredCost.costs(trial: .milliseconds(94), availableByteCount: available)
    let sizes = [256, 128, 64].filter { $0 <= taken }
    #expect(costs.map { $0.memoryByteCount >> 20 } == sizes)
  }

  @Test func `sixteen slots of the largest measured cost are within the limits`() throws {
    let dearest = try #require(
      MeasuredCost.costs(trial: .zero, availableByteCount: nil).first)
    let slot = KeySlot.Parameters.passphrase(
      Passphrase.Parameters(
        passes: dearest.passes, memoryByteCount: dearest.memoryByteCount,
        salt: [UInt8](repeating: 0, count: 16)))
    try Passphrase("p").checkCost(of: Array(repeating: slot, count: 16))
  }

  @Test func `a slot of a measured cost that its own passphrase would refuse is not made`() throws {
    let strict = try Passphrase("p", limits: Passphrase.Limits(memoryByteCount: 8 << 20...32 << 20))
    #expect(try code { _ = try strict.makeSlot() } == StoreError.invalidKey)
  }
}
