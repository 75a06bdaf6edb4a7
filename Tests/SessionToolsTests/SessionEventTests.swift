import Foundation
import SessionTools
import Synchronization
import SessionToolsTestSupport
import Testing

/// Other suites of the process run meanwhile, so each test looks only at its own session and store.
@Suite(.serialized) struct `what a process observes` {
  private struct Pass: Codable, ExpiringItem, Sendable {
    var text = "s3cret"
    var expirationDate: Date? = .distantPast
  }

  /// An error whose description quotes a secret.
  private struct TalkativeError: Error, CustomStringConvertible {
    let description = "the server said no to s3cret"
  }

  private final class Seen: Sendable {
    private let events = Mutex<[SessionEvent]>([])

    init() {
      SessionEvent.observer = { event in self.events.withLock { $0.append(event) } }
    }

    /// The events of a session or a store.
    subscript(name: String) -> [SessionEvent] {
      events.withLock { $0.filter { "\($0)".contains("\(name): ") } }
    }

    /// The events of a session without the waits that only a busy machine has.
    func steps(_ name: String) -> [SessionEvent] {
      self[name].filter { if case .refreshWaited = $0 { false } else { true } }
    }

    func lockWaits(_ store: SealedFileStore) -> [Duration] {
      self[store.path].compactMap { if case .lockWaited(_, let time) = $0 { time } else { nil } }
    }

    /// Returns the texts of the events without their durations, which a test cannot foresee.
    func texts(_ name: String) -> [String] {
      steps(name).map { event in
        if case .refreshEnded(_, let end, _) = event { return "ended: \(end)" }
        return "\(event)".replacing("session \(name): ", with: "")
      }
    }
  }

  private func session(
    _ name: String, in store: some SecretStore = MemoryStore(),
    _ refresh: @escaping SessionRefresher<Pass>.Handler
  ) throws -> UserSession<Pass> {
    var policy = RefreshPolicy()
    policy.firstPause = .milliseconds(1)
    let session = UserSession(
      container: try StoreContainer<Pass>(store, service: "events"), storageIdentifier: name,
      refresher: SessionRefresher(policy: policy, refresh: refresh))
    try session.didLogIn(Pass())
    return session
  }

  private static let renewed = RefreshOutcome.refreshed(Pass(expirationDate: .distantFuture))

  @Test func `a refresh begins, its tries fail, and it ends`() async throws {
    let seen = Seen()
    defer { SessionEvent.observer = nil }
    let tries = Mutex(0)
    let session = try session("tried") { _ in
      let number = tries.withLock { tries in
        tries += 1
        return tries
      }
      switch number {
      case 1: throw TalkativeError()
      case 2:
        return .transientFailure(
          StoreError(.unavailable, store: "server", reason: "no network"))
      default: return Self.renewed
      }
    }
    _ = try await session.validItem()
    #expect(
      seen.texts("tried") == [
        "a refresh has begun",
        "try 1 of a refresh has failed: TalkativeError",
        "try 2 of a refresh has failed: server: no network.",
        "ended: the item was refreshed",
      ])
    guard case .refreshEnded(_, _, let duration)? = seen["tried"].last else { return }
    #expect(duration > .zero)
  }

  @Test func `a sign-out by the server or by the program has its reason`() async throws {
    let seen = Seen()
    defer { SessionEvent.observer = nil }
    let rejected = try session("rejected") { _ in .rejected(TalkativeError()) }
    _ = try? await rejected.validItem()
    #expect(
      seen.steps("rejected").dropFirst(2) == [
        .signedOut(session: "rejected", .rejected("TalkativeError"))
      ])
    #expect(seen.texts("rejected")[1] == "ended: the server permanently rejected the item")

    let left = try session("left") { _ in Self.renewed }
    try await left.signOut()
    try left.didLogIn(Pass())
    try left.didLogOut(TalkativeError())
    #expect(
      seen["left"] == [
        .signedOut(session: "left", .requested(nil)),
        .signedOut(session: "left", .requested("TalkativeError")),
      ])
  }

  @Test func `a refresh waits for that of another process, and then is not needed`() async throws {
    let seen = Seen()
    defer { SessionEvent.observer = nil }
    let directory = try TemporaryDirectory()
    let key = try KeyFile.create(at: directory["key"])
    let store = try SealedFileStore.create(at: directory["store"], key: key)
    // To the kernel, another opened store is like another process.
    let others = try SealedFileStore.open(at: directory["store"], key: key)
    let session = try session("waits", in: store) { _ in Self.renewed }
    let lock = try ItemName("waits", in: "events").refreshLock
    let asked = try await others.withExclusiveAccess(to: lock, timeout: .seconds(10)) {
      let asked = Task { try await session.validItem() }
      try await wait(until: "the refresh has begun") { !seen["waits"].isEmpty }
      // Long enough to begin the wait, and to count as one.
      try await Task.sleep(for: .seconds(1))
      let refreshed = try JSONEncoder().encode(Pass(expirationDate: .distantFuture))
      try await others.put(SecretBytes(refreshed), for: ItemName("waits", in: "events"))
      return asked
    }
    _ = try await asked.value

    let events = seen["waits"]
    guard events.count == 3, case .refreshWaited("waits", let waited) = events[1],
      case .refreshEnded("waits", .notNeeded, let duration) = events[2]
    else {
      Issue.record("\(events)")
      return
    }
    #expect(waited >= .milliseconds(10) && waited <= duration)
    #expect(try #require(seen.lockWaits(store).max()) >= .milliseconds(10))
  }

  @Test func `tasks of one process wait for exclusive access`() async throws {
    let seen = Seen()
    defer { SessionEvent.observer = nil }
    let directory = try TemporaryDirectory()
    let store = try SealedFileStore.create(
      at: directory["store"], key: KeyFile.create(at: directory["key"]))
    let name = try ItemName("name", in: "events")
    try await store.withExclusiveAccess(to: name, timeout: .seconds(10)) {
      let error = await #expect(throws: StoreError.self) {
        try await store.withExclusiveAccess(to: name, timeout: .milliseconds(20)) {
          () async throws -> Void in
        }
      }
      #expect(error?.code == .timedOut)
    }
    #expect(try #require(seen.lockWaits(store).max()) >= .milliseconds(20))
  }

  @Test func `a store reports a notice, whether its owner listens or not`() throws {
    let seen = Seen()
    defer { SessionEvent.observer = nil }
    let directory = try TemporaryDirectory()
    try FileManager.default.createDirectory(
      atPath: directory["open"], withIntermediateDirectories: false)
    #expect(unsafe chmod(directory["open"], 0o777) == 0)
    let store = try SealedFileStore.create(
      at: directory["open/store"], key: KeyFile.create(at: directory["key"]))
    let texts = seen[store.path].map { "\($0)" }
    #expect(texts.contains { $0.contains("others can write \(directory["open"])") })
  }

  @Test func `no event quotes an error that may hold a secret`() async throws {
    let seen = Seen()
    defer { SessionEvent.observer = nil }
    let failing = try session("failing") { _ in throw TalkativeError() }
    _ = try? await failing.validItem()
    let rejected = try session("refused") { _ in .rejected(TalkativeError()) }
    _ = try? await rejected.validItem()
    let old = UserSession(
      container: try StoreContainer<Pass>(MemoryStore(), service: "events"),
      storageIdentifier: "old", notificationPoster: nil
    ) { $0(.unableToRefresh(error: TalkativeError())) }
    try old.didLogIn(Pass())
    _ = try? await old.validItem()
    try old.didLogOut(TalkativeError())

    #expect(seen.texts("old").contains("ended: a refresh has failed: TalkativeError"))
    for name in ["failing", "refused", "old"] {
      #expect(seen[name].count >= 3)
      for event in seen[name] {
        var text = ""
        dump(event, to: &text)
        #expect(!"\(event) \(text)".contains("s3cret"))
      }
    }
  }

  @Test func `an event knows the account of its session, and no text of it does`() async throws {
    let seen = Seen()
    defer { SessionEvent.observer = nil }
    let accounts = try UserAccounts(
      container: StoreContainer<Pass>(MemoryStore(), service: "events"),
      storageIdentifier: "owned",
      refresher: SessionRefresher { _ in .rejected(TalkativeError()) })
    let account = try AccountIdentifier("ada@example.com")
    try await accounts.signIn(Pass(), as: account)
    let session = accounts.session(of: account)
    _ = try? await session.validItem()
    try await session.signIn(Pass())
    try await session.signOut()
    let events = seen.steps("owned")
    #expect(events.count == 4, "a refresh, its end, and two sign-outs")
    for event in events {
      #expect(event.account == account)
      var text = ""
      dump(event, to: &text)
      #expect(!"\(event) \(text) \(String(reflecting: event))".contains("ada"))
    }
    #expect(
      events.last
        == .signedOut(session: .init("owned", account: account), .requested(nil)))
    #expect(SessionEvent.refreshBegan(session: "owned").account == nil)
    #expect(SessionEvent.storeNotice(store: "store", "notice").account == nil)
  }

  @Test func `without an observer no event is created`() async throws {
    let seen = Seen()
    SessionEvent.observer = nil
    #expect(SessionEvent.observer == nil)
    let isMade = Mutex(false)
    func event() -> SessionEvent {
      isMade.withLock { $0 = true }
      return .refreshBegan(session: "unobserved")
    }
    SessionEvent.report(event())
    let wasMade = isMade.withLock { $0 }
    #expect(!wasMade)
    let session = try session("unobserved") { _ in Self.renewed }
    _ = try await session.validItem()
    #expect(seen["unobserved"] == [])
  }
}
