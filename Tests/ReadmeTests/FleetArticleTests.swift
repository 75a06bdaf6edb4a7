import SessionToolsDatabaseServer
import Glibc
import SessionToolsOAuthTestSupport
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// The program of the article about several machines, at a real authorization server that ends the
/// login of a user whose token was sent twice.
@Suite(.serialized, .onOwnThread) struct FleetArticleTests {
  @Test func `instances share users while they are stopped, cut off and killed`() async throws {
    let count = TestSize.choose(small: 30, medium: 100, large: 10_000)
    let stage = try await FleetStage()
    try await stage.importUsers(0..<count)
    // Each access token is accepted a few times, so that all users are refreshed again and again.
    let uses = TestSize.choose(small: 3, medium: 3, large: 9)
    try await stage.server.set("uses=\(uses)")
    var instances = [try stage.start(), try stage.start(), try stage.start()]
    try await waitForRound(of: count, by: instances)

    // Shorter than a lease: nothing is sent twice.
    instances[0].service.signal(SIGSTOP)
    instances[1].line.isSilent = true
    try await Task.sleep(for: .seconds(TestSize.choose(small: 3, medium: 5, large: 20)))
    instances[0].service.signal(SIGCONT)
    instances[1].line.isSilent = false
    try await waitForRound(of: count, by: instances)
    let before = try await stage.server.counts()
    #expect(before.refreshes >= count)
    #expect(before.reuses == 0 && before.rejected == 0)

    // Killed while the server has tokens that it has not answered: those may be sent once more.
    // Nothing else is under way: access tokens last until all instances have stored what they got,
    // and then those of some users end while one instance runs.
    try await stage.server.set("uses=\(Int32.max)")
    try await waitForRound(of: count, by: instances)
    instances[..<2].forEach { $0.service.signal(SIGSTOP) }
    let held = try await stage.server.counts().held
    // Fewer than are refreshed at a time.
    let underWay = min(count / 3, 50)
    try await stage.server.set("hold=1&stale=\(underWay)")
    try await wait(until: "the server has the tokens") {
      try await stage.server.counts().held >= held + underWay
    }
    instances[2].service.signal(SIGKILL)
    _ = instances[2].service.waitUntilExit()
    instances[..<2].forEach { $0.service.signal(SIGCONT) }
    try await stage.server.set("hold=0&uses=\(uses)")
    instances[2] = try stage.start()
    try await waitForEnd(of: instances, count: count, at: stage)

    let after = try await stage.server.counts()
    let signedOut = instances.map { instance in
      instance.service.lines.count { $0.contains("the server ended the login") }
    }.reduce(0, +)
    print(
      "\(count) users, \(after.refreshes) refreshes, \(underWay) under way at the kill,",
      "\(after.reuses) sent twice, \(signedOut) signed out")
    #expect(after.reuses <= underWay, "only what was under way is sent twice")
    #expect(signedOut <= after.reuses, "only users whose token was sent twice are signed out")
  }

  /// Waits until each instance had a round in which each user got the status 200.
  private func waitForRound(of count: Int, by instances: [FleetStage.Instance]) async throws {
    let firsts = instances.map { $0.service.lines.count }
    for (instance, first) in zip(instances, firsts) {
      try await wait(until: "all users have an answer") {
        try await pause(for: count)
        return instance.service.roundWithoutFailure(of: count, after: first)
      }
    }
  }

  /// Waits before a look at a log, which takes long when it is large.
  private func pause(for count: Int) async throws {
    try await Task.sleep(for: .milliseconds(count / 5))
  }

  /// Waits until each user was refreshed or signed out by all instances, also those whose lease the
  /// killed instance had, and ends the instances.
  private func waitForEnd(
    of instances: [FleetStage.Instance], count: Int, at stage: FleetStage
  ) async throws {
    // The lease of the killed instance ends after 30 seconds.
    try await Task.sleep(for: .seconds(35))
    let firsts = instances.map { $0.service.lines.count }
    for (instance, first) in zip(instances, firsts) {
      try await wait(until: "all users that are left have an answer") {
        try await pause(for: count)
        let lines = instance.service.lines.dropFirst(first)
        return lines.count { $0.hasPrefix("synchronized ") } >= 3
          && lines.contains { $0.hasSuffix(": status 200") }
      }
    }
    for instance in instances {
      instance.service.signal(SIGTERM)
      #expect(instance.service.waitUntilExit() == 0, "\(instance.service.lines.suffix(5))")
    }
  }
}
