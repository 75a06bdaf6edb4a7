import Foundation
import SessionToolsOAuthTestSupport
import SessionTools
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Several processes with one session whose refresh token can be used once.
@Suite(.serialized, .onOwnThread) struct `a session of several processes` {
  @Test func `eight processes with four tasks each spend every token once`() async throws {
    let refreshCount = TestSize.choose(small: 200, medium: 300, large: 2000)
    let shared = try SharedSession()
    try await shared.server.set("limit=\(refreshCount)")
    let asked = try await eightProcesses("renew", of: shared, refreshCount)
    print("8 processes of 4 tasks asked \(asked) times, and spent \(refreshCount) tokens once each")
  }

  @Test func `eight processes whose requests are rejected refresh together`() async throws {
    let shared = try SharedSession()
    try await shared.server.set("uses=5&limit=20")
    _ = try await eightProcesses("work", of: shared, 20)
  }

  /// Runs processes until a number of tokens is spent, and expects that each was spent once.
  private func eightProcesses(
    _ order: String, of shared: SharedSession, _ refreshCount: Int
  ) async throws -> Int {
    #expect(try await shared.run("sign-in").lines == ["done"])
    let workCounts = try await withThrowingTaskGroup(of: Int?.self) { group in
      for _ in 0..<8 {
        group.addTask {
          let worker = try await shared.run(order, "4", "\(refreshCount)")
          #expect(worker.status == 0)
          return worker.lines.last.flatMap { Int($0.dropFirst("done ".count)) }
        }
      }
      return try await group.reduce(into: [Int?]()) { $0.append($1) }
    }
    let counts = try await shared.server.counts()
    #expect(counts.refreshes == refreshCount)
    #expect(counts.reuses == 0 && counts.rejected == 0)
    #expect(try shared.storedSequence() == refreshCount, "no user was signed out")
    #expect(try await shared.store.names(in: nil).count == 1, "nothing else is left")
    #expect(workCounts.allSatisfy { ($0 ?? 0) > 0 }, "each process took part")
    return workCounts.compactMap { $0 }.reduce(0, +)
  }

  @Test func `an item that another process stores arrives in the stream of states`() async throws {
    struct Stored: Codable, Equatable, Sendable { let sequence: Int }
    let shared = try SharedSession()
    let session = Session(
      container: try StoreContainer<Stored>(shared.store, service: "worker"),
      storageIdentifier: "credentials")
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.item == nil)
    let (process, input, output) = try shared.start("touch", "100")
    var delays: [TimeInterval] = []
    for sequence in 1...100 {
      try input.write(contentsOf: Data("\n".utf8))
      #expect(await states.next()?.item?.sequence == sequence)
      let arrival = Date().timeIntervalSince1970
      let line = String(decoding: output.availableData, as: UTF8.self)
      let time = try #require(TimeInterval(line.trimmingCharacters(in: .newlines)))
      delays.append(arrival - time)
    }
    process.waitUntilExit()
    // For information only: this is not a benchmark. A delay below zero means that the change
    // arrived before the call returned.
    delays.sort()
    let milliseconds = delays.map { "\(($0 * 10_000).rounded() / 10) ms" }
    print(
      "a change of another process arrived after \(milliseconds[50]), at most \(milliseconds[99])")
  }

  /// The fate of a session whose process was killed at a moment of a refresh.
  struct Fate: CustomStringConvertible {
    let moment: String
    let wasSpent: Bool
    let ending: String

    var description: String {
      "\(moment): \(wasSpent ? "spent" : "unspent"), \(ending)"
    }
  }

  @Test(arguments: [false, true])
  func `killed at any moment of a refresh, the session continues or the server ends it`(
    serverForgives: Bool
  ) async throws {
    // A worker that is not killed reports the number of operations.
    let probe = try SharedSession()
    _ = try await probe.run("sign-in")
    let said = try await probe.run("refresh", "never").lines
    let operationCount = try #require(said.first?.split(separator: " ").last.flatMap { Int($0) })
    #expect(operationCount > 2)
    let moments =
      ["before-request", "after-request"]
      + (1...operationCount).flatMap { ["before:\($0)", "after:\($0)"] }
    var fates: [Fate] = []
    for moment in moments {
      let shared = try SharedSession()
      if serverForgives { try await shared.server.set("grace=1") }
      _ = try await shared.run("sign-in")
      #expect(try await shared.run("refresh", moment).status == -SIGKILL, "\(moment)")
      let stored = try #require(try shared.storedSequence(), "a kill signs no user out")
      let spent = try await shared.server.counts().refreshes
      let words = try #require(try await shared.run("refresh", "never").lines.first)
        .split(separator: " ").map(String.init)
      let isLost = spent > stored
      if isLost, !serverForgives {
        #expect(words[0] == "rejected", "\(moment)")
        #expect(try await shared.server.counts().reuses == 1, "it is sent once more, not twice")
        #expect(try shared.storedSequence() == nil)
      } else {
        #expect(words.prefix(2) == ["refreshed", "\(stored + 1)"], "\(moment)")
        #expect(try await shared.server.counts().reuses == 0)
        #expect(try shared.storedSequence() == stored + 1)
      }
      #expect(try await shared.store.names(in: nil).count <= 1, "nothing else is left")
      fates.append(Fate(moment: moment, wasSpent: isLost, ending: words[0]))
    }
    // Some moments are before the token was spent, and some after.
    #expect(fates.contains { $0.wasSpent } && fates.contains { !$0.wasSpent })
    for fate in fates { print(serverForgives ? "forgiving server," : "strict server,", fate) }
  }
}
