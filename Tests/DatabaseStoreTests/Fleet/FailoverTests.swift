import SessionToolsDatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTestSupport
import SessionToolsTestThreads
import Testing

/// A primary that dies, and a standby that takes its place.
@Suite(.onOwnThread) struct `a failover` {
  private static let roundCount = TestSize.choose(small: 1, medium: 2, large: 20)
  private static let putCount = TestSize.choose(small: 100, medium: 200, large: 3000)

  /// Each standby becomes the primary of the next round.
  @Test func `to a synchronous standby loses nothing that was confirmed, and decides the rest`()
    async throws
  {
    var primary = try await DatabaseServer()
    let fleet = try await Fleet(at: primary.address(), timeout: .milliseconds(300))
    var (confirmedCount, madeCount, notMadeCount) = (0, 0, 0)
    for round in 1...Self.roundCount {
      let standby = try await primary.makeStandby()
      let address = Self.address(of: primary, standby)
      let patient = try (0..<2).map { _ in
        try fleet.opened(at: address, timeout: .seconds(300))
      }
      let hasty = try (0..<2).map { _ in try fleet.opened(at: address) }
      let items = try (0..<16).map { try ItemName("\(round) \($0)", in: "fleet") }
      let writers = Writers(of: items, in: patient + hasty, patientCount: patient.count)
      try await wait(until: "the writers are at work") { writers.confirmedCount > Self.putCount }
      primary.crash()
      let countBefore = writers.confirmedCount
      try await standby.promote()
      try await wait(until: "the writers go on") { writers.confirmedCount > countBefore + 100 }
      let tally = writers.end()
      #expect(tally.wrongs == [])
      let other = try fleet.opened(at: standby.address(), timeout: .seconds(60))
      for (number, item) in items.enumerated() {
        let text = try await other.text(for: item)
        #expect(text == tally.stored[number])
      }
      print(
        "failover \(round): \(tally.confirmedCount) puts were confirmed and not lost; of those of "
          + "unknown outcome, \(tally.madeCount) were made and \(tally.notMadeCount) were not")
      confirmedCount += tally.confirmedCount
      madeCount += tally.madeCount
      notMadeCount += tally.notMadeCount
      primary = standby
    }
    // Otherwise no put was under way, which one failover alone may meet.
    #expect(Self.roundCount == 1 || madeCount + notMadeCount > 0)
    print(
      "\(Self.roundCount) failovers: \(confirmedCount) confirmed, "
        + "\(madeCount + notMadeCount) unknown")
  }

  private static func address(of servers: DatabaseServer...) -> String {
    "host=\(servers.map { _ in "127.0.0.1" }.joined(separator: ",")) "
      + "port=\(servers.map { "\($0.port)" }.joined(separator: ",")) "
      + "user=postgres dbname=postgres sslmode=disable"
  }

  /// What became of an item in the changes that the standby never received.
  private enum Loss: String, CaseIterable {
    case kept, replaced, removed, new

    var isLost: Bool { self != .kept }

    /// The text before, and after.
    var texts: (old: String?, new: String?) {
      switch self {
      case .kept: ("old", "old")
      case .replaced: ("old", "new")
      case .removed: ("old", nil)
      case .new: (nil, "new")
      }
    }

    func name() throws(StoreError) -> ItemName { try ItemName(rawValue, in: "fleet") }
  }

  @Test func `to an asynchronous standby shows no older item to those who saw the newer one`()
    async throws
  {
    let primary = try await DatabaseServer()
    let fleet = try await Fleet(at: primary.address())
    let standby = try await primary.makeStandby(following: .asynchronously)
    let address = Self.address(of: primary, standby)
    let stores = try (0..<3).map { _ in try fleet.opened(at: address) }
    let (writer, reader, stranger) = (stores[0], stores[1], stores[2])
    for loss in Loss.allCases {
      if let old = loss.texts.old { try await writer.put(old, for: loss.name()) }
    }
    for store in stores {
      for loss in Loss.allCases {
        #expect(try await store.text(for: loss.name()) == loss.texts.old)
      }
    }
    let listener = Listener(reader.changes())
    try await listener.waitForBegin()
    try await primary.waitForStandby()

    try await primary.stopSending()
    // More than once, so that versions go up by more than one, and the last time as a list.
    for text in ["first", "second", "new"] {
      try await writer.put(text, for: Loss.replaced.name())
      try await writer.put(text, for: Loss.new.name())
    }
    try await writer.apply([.remove(Loss.removed.name())])
    for store in [writer, reader] {
      for loss in Loss.allCases {
        #expect(try await store.text(for: loss.name()) == loss.texts.new)
      }
    }
    primary.crash()
    try await standby.promote()

    for store in [writer, reader] {
      for loss in Loss.allCases {
        let name = try loss.name()
        let texts = Self.texts(of: name, in: store)
        #expect(texts == Array(repeating: loss.isLost ? "corrupt" : "old", count: 2), "\(loss)")
        let outcome = try code { _ = try store.contains(name) }
        #expect(outcome == (loss.isLost ? .corrupt : nil), "\(loss)")
      }
      let outcome = await #expect(throws: StoreError.self) {
        _ = try await store.asyncApply(
          [.remove(Loss.replaced.name())],
          if: .stored(Loss.replaced.name(), isOneOf: [ItemVersion(SecretBytes(utf8: "old"))]))
      }
      #expect(outcome?.code == .corrupt)
    }
    // No one can tell it.
    #expect(try await stranger.text(for: Loss.replaced.name()) == "old")
    try await wait(until: "the listener is told") { listener.resynchronizationCount == 2 }

    // One of them has new tokens, from which all go on.
    for loss in Loss.allCases where loss.isLost {
      try await reader.put("again", for: loss.name())
      for store in stores {
        #expect(
          Self.texts(of: try loss.name(), in: store) == ["again", "again"], "\(loss)")
      }
    }
    #expect(listener.resynchronizationCount == 2)
  }

  /// Reads an item in the two ways that there are; returns the texts, or the errors' codes.
  private static func texts(of name: ItemName, in store: SealedDatabaseStore) -> [String?] {
    [text { try store.value(for: name) }, text { try store.values(ofFirst: [name])[0] }]
  }

  private static func text(_ read: () throws -> SecretBytes?) -> String? {
    do {
      return try read().map { String(decoding: $0.copyBytes(), as: UTF8.self) }
    } catch {
      return (error as? StoreError).map { "\($0.code)" } ?? "\(error)"
    }
  }
}
