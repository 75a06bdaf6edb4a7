import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A network whose wire can be cut without a word, unlike a connection that is closed.
private final class Wire: Sendable {
  private static let program = "/usr/sbin/ip"
  private static let environment = ["PATH": "/usr/bin:/bin:/usr/sbin:/sbin"]

  /// The name of the network's namespace, and of this machine's end of the wire.
  private let name: String
  private let network: String

  /// The address of this machine on the wire.
  var address: String { "\(network).1" }

  init() async throws {
    let number = Int.random(in: 0..<(1 << 16))
    name = "st\(number)"
    network = "10.\(128 + (number >> 12)).\(number >> 4 & 255)"
    for line in [
      "netns add \(name)",
      "link add \(name) type veth peer name end netns \(name)",
      "addr add \(address)/24 dev \(name)",
      "link set \(name) up",
      "-n \(name) addr add \(network).2/24 dev end",
      "-n \(name) link set end up",
    ] {
      try await Self.run(line)
    }
  }

  deinit {
    let daemon = try? Child(
      Self.program, ["netns", "delete", name], environment: Self.environment)
    daemon?.waitUntilExit()
  }

  /// What starts a program at the other end.
  var otherEnd: [String] { [Self.program, "netns", "exec", name] }

  func cut() async throws { try await Self.run("-n \(name) link set end down") }

  func repair() async throws { try await Self.run("-n \(name) link set end up") }

  private static func run(_ line: String) async throws {
    try await Program.run(
      program, line.split(separator: " ").map(String.init), environment: environment)
  }
}

/// Processes whose wire to the server is cut.
@Suite(.onOwnThread) struct `a process that is cut off` {
  private static let timeout = Duration.seconds(4)

  @Test func `loses its access, and ends each operation in time`() async throws {
    let wire = try await Wire()
    let server = try await DatabaseServer(on: wire.address)
    let fleet = try await Fleet(
      at: server.address(), timeout: Self.timeout, leaseDuration: .seconds(3))
    let address =
      "host=\(wire.address) port=\(server.port) user=postgres dbname=postgres sslmode=disable"
    let holder = try fleet.start("hold", at: address, under: wire.otherEnd)
    let writer = try fleet.start("put", at: address, under: wire.otherEnd)
    let (item, name) = (try ItemName("held", in: "fleet"), try ItemName("name", in: "fleet"))
    try await holder.waitFor("opened")
    try holder.send()
    try await holder.waitFor("held")
    try await writer.waitFor("a put") { $0.hasPrefix("stored") }

    try await wire.cut()
    try await fleet.store.withExclusiveAccess(to: name, timeout: patience) {
      try await fleet.store.put("mine", for: item)
    }
    try await waitForFailures(of: writer)
    // Only a put that was sent has an unknown outcome, and a statement is prepared first.
    while !writer.said.contains(where: { $0.hasPrefix("outcomeUnknown") }) {
      try await wire.repair()
      try await waitForPut(of: writer)
      try await wire.cut()
      try await waitForFailures(of: writer)
    }
    try await wire.repair()
    try await waitForPut(of: writer)
    // Its first puts may find connections that the cut has broken.
    repeat {
      let count = holder.said.count
      try holder.send("1")
      try await wait(until: "the holder says what became of its put") {
        holder.said.count > count
      }
      #expect(holder.last != "stored")
    } while holder.last != "exclusionLost"
    #expect(try holder.end().status == 0)
    let lines = try writer.end().lines
    let puts = lines.compactMap { $0.wholeMatch(of: /(\w+) (\d+) (\d+)/) }
    #expect(puts.count == lines.count - 2)
    let longest = puts.compactMap { Int($0.3) }.max() ?? 0
    #expect(Duration.milliseconds(longest) < Self.timeout + grace)
    let last = try #require(puts.last { $0.1 == "stored" })
    let text = try await fleet.opened(timeout: .seconds(60)).text(
      for: ItemName("item", in: "fleet"))
    let mayBeLast = [last] + puts.filter { $0.1 == "outcomeUnknown" }
    #expect(mayBeLast.contains { text == "\($0.2)" })
    print("cut off: the longest of \(puts.count) puts took \(longest) ms")
  }

  /// Waits until a put is made from now on.
  private func waitForPut(of writer: FleetWorker) async throws {
    let count = writer.said.count
    try await wait(until: "a put is made") {
      writer.said.dropFirst(count).contains { $0.hasPrefix("stored") }
    }
  }

  /// Waits until a put finds no server; one that was under way has ended before.
  private func waitForFailures(of writer: FleetWorker) async throws {
    let count = writer.said.count
    try await wait(until: "a put fails") {
      writer.said.dropFirst(count).contains {
        $0.hasPrefix("timedOut") || $0.hasPrefix("unavailable")
      }
    }
  }
}
