import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

@Suite(.onOwnThread) struct LinearizabilityTests {
  static let operationCount = TestSize.choose(
    small: 20_000, medium: 200_000, large: 5_000_000)
  static let clientCount = 8

  let scratch: Scratch
  let key: String

  init() throws {
    scratch = try Scratch()
    key = try scratch.writeKeyFile()
    _ = try scratch.create()
  }

  @Test
  func `one order explains the history of eight processes while others compact and rotate`()
    throws
  {
    let rewriters = try ["compact", "rotate"].map { kind in
      try Worker("rewrite", scratch.path, key, kind)
    }
    for rewriter in rewriters { #expect(rewriter.line() == "ready") }
    let output = scratch["histories"]
    try FileManager.default.createDirectory(atPath: output, withIntermediateDirectories: false)
    let clients = try (0..<Self.clientCount).map { client in
      try Worker(
        "history", scratch.path, key, "\(client)", "\(Self.operationCount / Self.clientCount)",
        output)
    }
    for client in clients {
      #expect(client.lines() == ["done"])
      #expect(client.wait() == 0)
    }
    for rewriter in rewriters {
      try rewriter.endInput()
      let count = rewriter.lines().last.flatMap { Int($0) } ?? 0
      #expect(count >= 10)
      #expect(rewriter.wait() == 0)
    }
    try checkHistories(in: output)
    #expect(try scratch.open().verify().findings == [])
  }

  private func checkHistories(in output: String) throws {
    let store = try scratch.open()
    var (count, changeCount, overlapCount) = (0, 0, 0)
    for group in 0..<SharedItems.groupCount {
      var history = try (0..<Self.clientCount).flatMap { client in
        try HistoryFile.read(URL(filePath: "\(output)/\(client)-\(group)"))
      }
      count += history.count
      changeCount += history.count { $0.kind == .change }
      history.sort { $0.invoked < $1.invoked }
      overlapCount += zip(history, history.dropFirst()).count { $0.responded >= $1.invoked }
      history.append(try finalState(of: group, store, after: history))
      let violation = LinearizabilityChecker.violation(in: history)
      #expect(violation == nil, "group \(group)")
    }
    #expect(count == Self.operationCount)
    // One operation of twenty changes something, and many run at the same time: without that, the
    // history would prove nothing.
    #expect(changeCount > count / 30)
    #expect(overlapCount > count / 1000)
  }

  /// Returns a final read of the resulting state, by a process that took no part.
  private func finalState(
    of group: Int, _ store: SealedFileStore, after history: [HistoryOperation]
  ) throws -> HistoryOperation {
    let items = try #require(try SharedItems.state(ofGroup: group, in: store))
    let end = history.map(\.responded).max() ?? 0
    return HistoryOperation(.observation, items, invoked: end + 1, responded: end + 2)
  }
}
