import AsyncHTTPClient
import DatabaseStore
import Foundation
import NIOHTTP1
import SealedStore
import SessionToolsBase
import Testing

/// The example service: two instances of it, a real authorization server and a real database.
@Suite(.serialized) struct `the example service` {
  /// Everything around the service.
  private struct Stage {
    let server: RunningProgram
    let directory: URL
    let browser = Browser()
    var serverAddress: String { server.firstLine }
    var keyFile: String { directory.appending(path: "store-key").path }

    init() throws {
      directory = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
      try FileManager.default.createDirectory(
        at: directory, withIntermediateDirectories: true,
        attributes: [.posixPermissions: 0o700])
      // As Kubernetes mounts it.
      try RawKey.random().copyBytes().withUnsafeBytes { Data($0) }.write(
        to: directory.appending(path: "store-key"))
      try FileManager.default.setAttributes(
        [.posixPermissions: 0o440], ofItemAtPath: directory.appending(path: "store-key").path)
      let script = URL(filePath: #filePath).appending(
        path: "../../../../Services/AuthorizationServer/server.py")
      server = try RunningProgram(
        "/usr/bin/python3", [script.standardizedFileURL.path],
        environment: [
          "PYTHONPATH": try variable("SESSION_TOOLS_OAUTH_PACKAGES"),
          "PYTHONDONTWRITEBYTECODE": "1", "PATH": "/usr/bin:/bin",
        ], readsLine: true)
      try #require(server.firstLine.hasPrefix("http"), "the authorization server did not start")
    }

    /// Starts an instance, whose people return to the address of the first one.
    func instance(
      port: Int, publicPort: Int? = nil, _ place: [String: String]
    ) async throws -> (program: RunningProgram, address: String) {
      let program = try RunningProgram(
        URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
          .appending(path: "ExampleService").path,
        environment: [
          "PORT": "\(port)", "PUBLIC_ADDRESS": "http://127.0.0.1:\(publicPort ?? port)",
          "API_ADDRESS": serverAddress, "ISSUER": serverAddress, "CLIENT_ID": "app",
          "STORE_KEY_FILE": keyFile, "LOG_LEVEL": "warning",
          "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
        ].merging(place) { $1 })
      let address = "http://127.0.0.1:\(port)"
      // Until it listens.
      while (try? await browser.send(.GET, "\(address)/livez"))?.status != 200 {
        try await Task.sleep(for: .milliseconds(50))
      }
      return (program, address)
    }

    func set(_ settings: String) async throws {
      _ = try await browser.send(.POST, "\(serverAddress)/test/settings", form: settings)
    }

    func counts() async throws -> [String: Int] {
      let answer = try await browser.send(.GET, "\(serverAddress)/test/counts")
      return try JSONDecoder().decode([String: Int].self, from: Data(answer.body.utf8))
    }

    func end() async throws {
      try await browser.client.shutdown()
      try FileManager.default.removeItem(at: directory)
    }
  }

  /// Runs a closure for each of some numbers, 64 at a time, and counts its results.
  private func tally<Result: Hashable & Sendable>(
    _ count: Int, _ body: @escaping @Sendable (Int) async throws -> Result
  ) async throws -> [Result: Int] {
    try await withThrowingTaskGroup(of: Result.self) { group in
      var results: [Result: Int] = [:]
      for number in 0..<count {
        if number >= 64, let result = try await group.next() { results[result, default: 0] += 1 }
        group.addTask { try await body(number) }
      }
      for try await result in group { results[result, default: 0] += 1 }
      return results
    }
  }

  @Test func `logs in, uses, refuses and logs out on a file store`() async throws {
    let stage = try Stage()
    let browser = stage.browser
    let (program, address) = try await stage.instance(
      port: try freePort(), ["STORE": stage.directory.appending(path: "store").path])
    #expect(try await browser.send(.GET, "\(address)/readyz").status == 200)
    #expect(try await browser.send(.GET, "\(address)/inbox").status == 401)
    let strange = [
      "session=../../etc", "session=", "session=\(String(repeating: "x", count: 6000))",
    ]
    for cookie in strange {
      #expect(try await browser.send(.GET, "\(address)/inbox", cookies: [cookie]).status == 401)
    }
    // A login that an attacker began: the victim's browser has no cookie of it.
    let attack = try await browser.send(.GET, "\(address)/login")
    let callback = try await browser.send(
      .POST, try #require(attack.location), form: "user=eve&password=open+sesame&answer=allow")
    #expect(try await browser.send(.GET, try #require(callback.location)).status == 400)

    let cookie = try await browser.signIn("ada", at: address)
    #expect(try await browser.send(.GET, "\(address)/inbox", cookies: [cookie]).status == 200)
    #expect(try await browser.send(.POST, "\(address)/logout", cookies: [cookie]).status == 204)
    #expect(try await browser.send(.GET, "\(address)/inbox", cookies: [cookie]).status == 401)
    program.send(SIGTERM)
    #expect(program.status() == 0)
    try await stage.end()
  }

  @Test func `stores the answer to a refresh that is under way when it is ended`() async throws {
    let stage = try Stage()
    let browser = stage.browser
    let place = ["STORE": stage.directory.appending(path: "store").path]
    let (first, address) = try await stage.instance(port: try freePort(), place)
    let cookie = try await browser.signIn("ada", at: address)
    // The login server takes the refresh token, and does not answer yet.
    try await stage.set("hold=1")
    try await stage.set("stale=1")
    let asking = Task { try await browser.send(.GET, "\(address)/inbox", cookies: [cookie]).status }
    while try await stage.counts()["held"] != 1 {}
    first.send(SIGTERM)
    try await stage.set("hold=0")
    #expect(first.status() == 0)
    // The answer, or none because the server was shut down first.
    _ = try? await asking.value

    let (second, again) = try await stage.instance(port: try freePort(), place)
    #expect(try await browser.send(.GET, "\(again)/inbox", cookies: [cookie]).status == 200)
    let counts = try await stage.counts()
    #expect(counts["refreshes"] == 1 && counts["reuses"] == 0)
    second.send(SIGTERM)
    #expect(second.status() == 0)
    try await stage.end()
  }

  @Test func `keeps 1,000 people logged in on two instances, through a kill and an outage`()
    async throws
  {
    let stage = try Stage()
    let browser = stage.browser
    let database = try variable("SERVER_PACKAGES_DATABASE")
    _ = try SealedDatabaseStore.create(at: database, key: MountedKeyFile(stage.keyFile))
    let place = ["DATABASE_URL": database]
    let firstPort = try freePort()
    let (first, firstAddress) = try await stage.instance(port: firstPort, place)
    let (second, secondAddress) = try await stage.instance(
      port: try freePort(), publicPort: firstPort, place)
    let count = 1000
    let clock = ContinuousClock()
    func report(_ what: String, _ time: Duration, _ figures: String) {
      print("| \(what) | \(time / .seconds(1)) s | \(figures) |")
    }

    var cookies: [String] = []
    var time = try await clock.measure {
      cookies = try await withThrowingTaskGroup(of: (Int, String).self) { group in
        var cookies = [String](repeating: "", count: count)
        for number in 0..<count {
          if number >= 16, let (done, cookie) = try await group.next() { cookies[done] = cookie }
          group.addTask { (number, try await browser.signIn("user\(number)", at: firstAddress)) }
        }
        for try await (done, cookie) in group { cookies[done] = cookie }
        return cookies
      }
    }
    var counts = try await stage.counts()
    #expect(counts["logins"] == count)
    report("\(count) people log in", time, "\(counts["logins"] ?? 0) logins")

    // Both instances get a request of each.
    let (one, two, all) = (firstAddress, secondAddress, cookies)
    func ask() async throws -> [Int: Int] {
      try await tally(2 * count) { number in
        let address = number.isMultiple(of: 2) ? one : two
        return try await browser.send(
          .GET, "\(address)/inbox", cookies: [all[number / 2]]
        ).status
      }
    }
    var statuses: [Int: Int] = [:]
    time = try await clock.measure { statuses = try await ask() }
    #expect(statuses == [200: 2 * count])
    report("warm", time, "\(statuses)")

    try await stage.set("stale=\(count)")
    time = try await clock.measure { statuses = try await ask() }
    counts = try await stage.counts()
    #expect(statuses == [200: 2 * count])
    #expect(counts["refreshes"] == count && counts["reuses"] == 0)
    report(
      "all tokens refused", time,
      "\(statuses), \(counts["refreshes"] ?? 0) refreshes, \(counts["reuses"] ?? 0) twice")

    // Killed in the middle; a server with a period of grace, as most have.
    try await stage.set("grace=1")
    try await stage.set("stale=\(count)")
    time = try await clock.measure {
      let answers = try await tally(2 * count) { number in
        if number == count { first.send(SIGKILL) }
        let address = number.isMultiple(of: 2) ? one : two
        do {
          return try await browser.send(
            .GET, "\(address)/inbox", cookies: [all[number / 2]]
          ).status
        } catch {
          // The instance is gone; a balancer sends the request to the other one.
          return try await browser.send(.GET, "\(two)/inbox", cookies: [all[number / 2]]).status
        }
      }
      statuses = answers
    }
    let before = counts
    counts = try await stage.counts()
    #expect(statuses == [200: 2 * count])
    // Those that were under way are sent once more.
    let refreshes = (counts["refreshes"] ?? 0) - (before["refreshes"] ?? 0)
    #expect(refreshes >= count && refreshes <= count + 64)
    #expect(counts["reuses"] == 0)
    report("one instance killed", time, "\(statuses), \(refreshes) refreshes")

    let server = try variable("SERVER_PACKAGES_DATABASE_SERVER")
    func control(_ arguments: String...) throws {
      let program = try RunningProgram(
        server, arguments, environment: ["PATH": "/usr/sbin:/usr/bin:/bin"])
      #expect(program.status() == 0)
    }
    try control("-m", "immediate", "stop")
    var readiness = 0
    time = try await clock.measure {
      readiness = try await browser.send(.GET, "\(two)/readyz").status
    }
    #expect(readiness == 503)
    report("readiness without the database", time, "\(readiness)")
    #expect(try await browser.send(.GET, "\(two)/livez").status == 200)
    time = try await clock.measure {
      statuses = try await tally(200) { number in
        try await browser.send(.GET, "\(two)/inbox", cookies: [all[number]]).status
      }
    }
    #expect(statuses.keys.allSatisfy { $0 >= 500 })
    report("200 requests without the database", time, "\(statuses)")
    try control("start")
    while try await browser.send(.GET, "\(two)/readyz").status != 200 {}
    time = try await clock.measure {
      statuses = try await tally(count) { number in
        try await browser.send(.GET, "\(two)/inbox", cookies: [all[number]]).status
      }
    }
    #expect(statuses == [200: count])
    report("after the outage", time, "\(statuses)")
    second.send(SIGTERM)
    #expect(second.status() == 0)
    try await stage.end()
  }
}
