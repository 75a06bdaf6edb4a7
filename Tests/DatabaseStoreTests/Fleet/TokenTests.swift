import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// Processes of a fleet with tokens that can be used once.
@Suite(.onOwnThread) struct `a token of a fleet` {
  private static let lease = Duration.milliseconds(600)

  private struct Token: Codable {
    let refreshToken: String
    let number: Int
  }

  /// A store with tokens that have expired, and the server that refreshes them.
  private struct Stage {
    let fleet: Fleet
    let server: TokenServer

    init(
      userCount: Int, leaseDuration: Duration = lease, answerAfter delay: Duration = .zero
    ) async throws {
      fleet = try await Fleet(leaseDuration: leaseDuration)
      server = try TokenServer(after: delay)
      for user in 0..<userCount { try signIn(user) }
    }

    func signIn(_ user: Int) throws {
      let token = Token(refreshToken: "refresh-\(user)-0", number: 0)
      let value = SecretBytes([UInt8](try JSONEncoder().encode(token)))
      try fleet.store.put(value, for: ItemName("\(user)", in: "fleet"))
    }

    func start(
      at address: String? = nil, from first: Int = 0, _ count: Int, stop: String = "never"
    ) throws -> FleetWorker {
      try fleet.start("renew", at: address, server.address, "\(first)", "\(count)", stop)
    }

    /// How often the stored token of a user was refreshed; `nil` if the user was signed out.
    func storedNumber(of user: Int) throws -> Int? {
      guard let value = try fleet.store.value(for: ItemName("\(user)", in: "fleet")) else {
        return nil
      }
      return try JSONDecoder().decode(Token.self, from: Data(value.copyBytes())).number
    }

    /// Whether the store has the token that the server accepts next.
    func hasNewestToken(of user: Int) throws -> Bool {
      try storedNumber(of: user) == server.spentCount(of: user)
    }
  }

  @Test func `is refreshed once by fifty processes that ask at the same time`() async throws {
    let stage = try await Stage(userCount: 1, leaseDuration: .seconds(30))
    let workers = try (0..<50).map { _ in try stage.start(1) }
    for worker in workers { try await worker.waitFor("opened") }
    for worker in workers { try worker.send() }
    for worker in workers {
      let ended = worker.waitUntilExit()
      #expect(ended.lines.last == "ended" && ended.lines.contains { $0.hasPrefix("renewed 0 ") })
    }
    #expect(try stage.server.counts() == TokenServer.Counts(received: 1, reused: 0))
    #expect(try stage.storedNumber(of: 0) == 1)
    #expect(try await stage.fleet.store.names(in: nil).count == 1, "nothing else is stored")
  }

  /// The process has exclusive access, and stands still before it sends.
  @Test func `is not sent by a process that was stopped before it asked its handler`()
    async throws
  {
    let stage = try await Stage(userCount: 1)
    let outcome = try await stopOne("before-handler", on: stage)
    #expect(outcome.stopped.lines.map(\.words.first) == ["opened", "renewed", "ended"])
    #expect(try stage.server.counts() == TokenServer.Counts(received: 1, reused: 0))
    #expect(try stage.hasNewestToken(of: 0))
  }

  /// No lock and no lease prevents this: the server takes a request however late it is.
  @Test func `is sent twice only if a process is stopped in its handler`() async throws {
    let stage = try await Stage(userCount: 1)
    let outcome = try await stopOne("in-handler", on: stage)
    #expect(outcome.other.lines[2].words.first == "renewed")
    #expect(try stage.server.counts() == TokenServer.Counts(received: 2, reused: 1))
    // The server's refusal was of an item that is no longer stored.
    #expect(try stage.storedNumber(of: 0) == 1)
  }

  private typealias Ending = (lines: [String], status: Int32)

  /// Stops a process at a moment for as long as another one takes to refresh.
  private func stopOne(
    _ moment: String, on stage: Stage
  ) async throws -> (stopped: Ending, other: Ending) {
    let stopped = try stage.start(1, stop: moment)
    try stopped.send()
    try await wait(until: "the process is stopped") { stopped.isStopped }
    let other = try stage.start(1)
    try other.send()
    let ending = other.waitUntilExit()
    stopped.signal(SIGCONT)
    return (stopped.waitUntilExit(), ending)
  }

  /// A process dies at each message that it sends or receives while it refreshes.
  @Test func `that was stored is never lost when a process is killed at any step`() async throws {
    let server = try await DatabaseServer.shared()
    let stage = try await Stage(userCount: 1, leaseDuration: .milliseconds(300))
    let proxy = try FaultProxy(to: server.port)
    let name = "killed-\(UUID())"
    let address = server.address(port: proxy.port, "sslmode=disable application_name=\(name)")
    let probe = try stage.start(at: address, 1)
    try await probe.waitFor("opened")
    proxy.plan(nil)
    try probe.send()
    try await probe.waitFor("an outcome") { $0.hasPrefix("renewed") }
    let counts = proxy.counts
    probe.waitUntilExit()
    #expect(counts.toServer > 10 && counts.toClient > 10)

    let stride = TestSize.choose(small: 11, medium: 7, large: 1)
    var (user, spentCount, lostCount) = (0, 0, 0)
    for direction in FaultProxy.Direction.allCases {
      for message in Swift.stride(
        from: Int.random(in: 0..<stride), to: counts[direction], by: stride)
      {
        user += 1
        let place = "\(direction) \(message)"
        try stage.signIn(user)
        let killed = try stage.start(at: address, from: user, 1)
        try await killed.waitFor("opened")
        proxy.plan(.blackHole, at: message, direction)
        try killed.send()
        try await wait(until: "the process is at the message") {
          !proxy.isPlanned || !killed.isRunning
        }
        _ = killed.kill()
        proxy.plan(nil)
        // A change that was sent on another connection is still made.
        try await wait(until: "the server has ended the sessions of the process") {
          try await server.ask(
            "SELECT count(*) FROM pg_stat_activity WHERE application_name = '\(name)'") == "0"
        }
        let stored = try #require(try stage.storedNumber(of: user), "a kill signs no user out")
        let spent = try stage.server.spentCount(of: user)
        spentCount += spent
        let other = try stage.start(from: user, 1)
        try other.send()
        let lines = other.waitUntilExit().lines
        let isLost = spent > stored
        lostCount += isLost ? 1 : 0
        #expect(lines.contains { $0.hasPrefix(isLost ? "rejected" : "renewed") }, "\(place)")
        #expect(try stage.server.revoked().contains(user) == isLost, "\(place)")
        #expect(try isLost || stage.hasNewestToken(of: user), "\(place)")
      }
    }
    // Twice by a process whose access, for 300 ms here, ended before it had removed the item.
    #expect(try stage.server.counts().reused >= lostCount)
    print(
      "killed at \(user) messages: \(spentCount) had sent the token, \(lostCount) of them had not "
        + "stored the answer")
  }

  enum Disturbance: String {
    case killed, stopped
  }

  @Test(arguments: [Disturbance.killed, .stopped])
  func `is sent twice only in the time between a request and its answer`(
    _ disturbance: Disturbance
  ) async throws {
    let userCount = TestSize.choose(small: 6, medium: 8, large: 200)
    let stage = try await Stage(userCount: userCount, answerAfter: Self.lease / 6)
    var workers = try (0..<8).map { _ in try stage.start(userCount) }
    for worker in workers { try await worker.waitFor("opened") }
    for worker in workers { try worker.send() }
    var outputs: [[String]] = []
    var count = 0
    while workers.contains(where: \.isRunning) {
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...60)))
      let sender = workers.firstIndex { $0.last?.hasPrefix("sending") ?? false }
      let number = sender ?? Int.random(in: 0..<workers.count)
      guard workers[number].isRunning else { continue }
      try await Task.sleep(for: .milliseconds(Int.random(in: 0...100)))
      count += 1
      switch disturbance {
      case .stopped:
        workers[number].signal(SIGSTOP)
        try await Task.sleep(for: Self.lease * Double.random(in: 0.5...2))
        workers[number].signal(SIGCONT)
      case .killed:
        let lines = workers[number].kill()
        outputs.append(lines)
        let user = lines.last?.words.dropFirst().first.flatMap { Int($0) } ?? 0
        workers[number] = try stage.start(from: user, userCount - user)
        try workers[number].send()
        // Otherwise no process would ever get anywhere.
        try await Task.sleep(for: Self.lease)
      }
    }
    outputs += workers.map { $0.waitUntilExit().lines }
    #expect(outputs.joined().filter { $0.hasPrefix("failed") } == [])

    let revoked = try stage.server.revoked()
    for user in 0..<userCount {
      if revoked.contains(user) {
        #expect(outputs.contains { Self.wasLate($0, for: user) }, "\(user)")
      } else {
        #expect(try stage.storedNumber(of: user) == 1, "\(user)")
        #expect(try stage.server.spentCount(of: user) == 1, "\(user)")
      }
    }
    print(
      "\(userCount) tokens, \(count) times a process was \(disturbance): \(revoked.count) reused, "
        + "none for another reason")
  }

  /// Whether a process sent a user's token, and had not stored the answer when the least rest of
  /// its lease was over, or when it was killed.
  private static func wasLate(_ lines: [String], for user: Int) -> Bool {
    let own = lines.filter { $0.words.count > 2 && $0.words[1] == "\(user)" }
    let times = own.map { $0.words.last.flatMap { Int($0) } ?? 0 }
    return own.indices.contains { place in
      guard own[place].hasPrefix("sending") else { return false }
      guard place + 1 < own.endIndex else { return true }
      return Duration.milliseconds(times[place + 1] - times[place]) >= lease / 3
    }
  }
}

extension String {
  fileprivate var words: [String] { split(separator: " ").map(String.init) }
}
