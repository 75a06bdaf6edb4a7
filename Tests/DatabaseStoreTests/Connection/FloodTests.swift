import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Servers that never stop sending.
@Suite(.onOwnThread) struct `a server that floods` {
  /// What it sends, while the connection is opened or in answer to a later statement.
  private static let manners =
    ["parameters", "notices", "rows", "errors", "value", "length"]
    + [
      "late-parameters", "late-notices", "late-notifications", "late-rows",
      "late-nulls", "late-wide",
      "late-errors", "late-done", "late-value", "late-length",
    ]

  @Test(arguments: manners, ["tcp", "socket"])
  func `keeps no one longer than the deadline, and fills no memory`(
    manner: String, place: String
  ) async throws {
    let server = try await FalseDatabase(manner, at: place)
    let deadline = ContinuousClock.now + .seconds(2)
    let line = try await onThread {
      try Program.outcome(
        of: [BuildDirectory.program("SessionToolsDatabaseWorker"), "ask", server.address(), "2000"]
      ).text
    }
    #expect(ContinuousClock.now < deadline + grace)
    let words = line.split(whereSeparator: \.isWhitespace)
    try #require(words.count == 2, "\(line)")
    #expect(["timedOut", "unavailable", "io"].contains(String(words[0])), "\(line)")
    let growth = try #require(Int(words[1]))
    #expect(isSanitized || growth << 10 < 64 << 20, "\(line)")
  }

  /// As after a suspension of this process, before whose end the answer came.
  @Test func `is read after the deadline as far as it had sent before`() throws {
    var pair: [Int32] = [-1, -1]
    try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { for descriptor in pair { close(descriptor) } }
    let wire = try #require(try ServerWire.between(pair[0]))
    wire.begin(allowing: 1 << 20)
    let past = ContinuousClock.now - .seconds(1)
    var sent = [UInt8](repeating: 7, count: 40_000)
    #expect(unsafe write(pair[1], &sent, sent.count) == sent.count)
    var received = 0
    var outcome = wire.wait(Int32(POLLIN), until: past)
    while outcome == .ready {
      received += unsafe recv(pair[0], &sent, sent.count, Int32(MSG_DONTWAIT))
      // It goes on sending.
      #expect(unsafe write(pair[1], &sent, 1000) == 1000)
      outcome = wire.wait(Int32(POLLIN), until: past)
    }
    #expect(outcome == .deadline && received == 40_000)
  }

  @Test func `sends no more than it may`() throws {
    var pair: [Int32] = [-1, -1]
    try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
    defer { for descriptor in pair { close(descriptor) } }
    let wire = try #require(try ServerWire.between(pair[0]))
    var bytes = [UInt8](repeating: 7, count: 40_000)
    for extra in [0, 1] {
      #expect(unsafe write(pair[1], &bytes, 20_000 + extra) == 20_000 + extra)
      wire.begin(allowing: 20_000)
      var received = 0
      var outcome = ServerWire.Outcome.ready
      while received < 20_000, outcome == .ready {
        outcome = wire.wait(Int32(POLLIN), until: later)
        received += unsafe recv(pair[0], &bytes, bytes.count, Int32(MSG_DONTWAIT))
      }
      #expect(outcome == .ready && received == 20_000)
      #expect(wire.wait(Int32(POLLIN), until: .now) == (extra == 0 ? .deadline : .excess))
    }
  }
}
