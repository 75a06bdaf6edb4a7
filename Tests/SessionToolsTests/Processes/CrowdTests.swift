import Foundation
import SessionTools
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A service whose users' tokens have all expired, as after an outage of the authorization server.
@Suite(.serialized, .onOwnThread) struct `a crowd of users` {
  private struct Counts: Decodable, Equatable {
    let received: Int
    let answered: Int
    let reused: Int
  }

  /// The server, and the store of the service; both end with this object.
  private final class Stage: Sendable {
    let store: SealedFileStore
    private let address: String
    private let server: Child
    private let output: ClosedPipe
    private let directory: TemporaryDirectory

    init(delay: Double) throws {
      directory = try TemporaryDirectory()
      store = try SealedFileStore.create(
        at: directory["store"], key: KeyFile.create(at: directory["key"]))
      output = try ClosedPipe()
      server = try Child(
        "/usr/bin/python3",
        ["\(SourceDirectory.path)/Tests/Services/CrowdedServer/server.py", "\(delay)"],
        environment: [:], output: output.writer.fileDescriptor)
      try output.writer.close()
      address = String(decoding: output.reader.availableData, as: UTF8.self)
        .trimmingCharacters(in: .newlines)
    }

    deinit {
      server.kill()
      server.waitUntilExit()
    }

    func start(_ order: String, users: Int) throws -> (Child, ClosedPipe) {
      let output = try ClosedPipe()
      let worker = try Child(
        BuildDirectory.program("SessionToolsSessionWorker"),
        [order, store.path, directory["key"], address, "\(users)"], environment: [:],
        output: output.writer.fileDescriptor)
      try output.writer.close()
      return (worker, output)
    }

    func answer<Answer: Decodable>(_ path: String) throws -> Answer {
      let url = try #require(URL(string: address + path))
      return try JSONDecoder().decode(Answer.self, from: Data(contentsOf: url))
    }
  }

  @Test(arguments: [(600, 4.0), (5000, 0.05)])
  func `is refreshed once each, on few threads`(_ users: Int, _ delay: Double) throws {
    let stage = try Stage(delay: delay)
    let (worker, output) = try stage.start("crowd", users: users)
    let said = String(decoding: try output.reader.readToEnd() ?? Data(), as: UTF8.self)
    #expect(worker.waitUntilExit() == 0)
    let figures = Dictionary(
      said.split(separator: "\n").compactMap { line -> (String, Double)? in
        let parts = line.split(separator: " ")
        return parts.count == 2 ? Double(parts[1]).map { (String(parts[0]), $0) } : nil
      }, uniquingKeysWith: { $1 })
    print("\(users) users at a server that takes \(delay) s: \(figures)")
    #expect(figures["answered"] == Double(users))
    #expect(try #require(figures["threads"]) < 100)
    // For a debug build; the benchmark has the figure for a release build. A sanitizer keeps freed
    // memory.
    #expect(try isSanitized || #require(figures["kibibytes"]) < 160 * 1024)
    #expect(
      try stage.answer("/counts") == Counts(received: users, answered: users, reused: 0))
  }

  @Test func `is also refreshed on few threads for code with completions`() throws {
    let stage = try Stage(delay: 0.05)
    let (worker, output) = try stage.start("crowd-old", users: 1000)
    let said = String(decoding: try output.reader.readToEnd() ?? Data(), as: UTF8.self)
    #expect(worker.waitUntilExit() == 0)
    let figures = said.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
    try #require(figures.count == 2, "\(said)")
    #expect(figures[0] == 1000)
    // The pools and queues together have about 90, and Dispatch some of its own. How many of them
    // work at the same time depends on the machine: 109 have been seen.
    #expect(figures[1] < 200)
    #expect(try stage.answer("/counts") == Counts(received: 1000, answered: 1000, reused: 0))
  }

  @Test func `loses no answer when the service is told to end`() throws {
    struct Stored: Decodable { let refreshToken: String }
    let stage = try Stage(delay: 3)
    let (worker, output) = try stage.start("crowd-end", users: 200)
    #expect(String(decoding: output.reader.availableData, as: UTF8.self) == "asked\n")
    try blockingWait(until: "100 requests are there") {
      try (stage.answer("/counts") as Counts).received >= 100
    }
    worker.kill(SIGTERM)
    #expect(String(decoding: output.reader.availableData, as: UTF8.self) == "ended\n")
    #expect(worker.waitUntilExit() == 0)

    let given: [String: String] = try stage.answer("/tokens")
    #expect(given.count >= 100 && given.count < 200, "some tokens were not requested any more")
    for user in 0..<200 {
      let bytes = try #require(try stage.store.value(for: ItemName("\(user)", in: "crowd")))
      let stored = try JSONDecoder().decode(Stored.self, from: Data(bytes.copyBytes()))
      #expect(stored.refreshToken == given["\(user)"] ?? "refresh-\(user)-0")
    }
  }
}
