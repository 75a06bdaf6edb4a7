import Foundation
import SessionAuthentication
import SessionToolsBase
import SessionToolsTesting
import SessionToolsTestStores
import Testing

/// Every kind of container, behind a gate.
enum GuardedKind: CaseIterable {
  case store, old

  func container(
    behind gate: AuthenticationGate, whenLocked: GuardedStore.WhenLocked = .refuse,
    guardsChanges: Bool = false
  ) throws -> GuardedContainer<String> {
    switch self {
    case .store:
      GuardedContainer(
        try StoreContainer<String>(MemoryStore(), service: "mail"), behind: gate,
        whenLocked: whenLocked, guardsChanges: guardsChanges)
    case .old:
      GuardedContainer(
        OldBox(), behind: gate, whenLocked: whenLocked, guardsChanges: guardsChanges)
    }
  }
}

/// A container of the old kind.
final class OldBox: SessionContainer {
  private var items: [String: String] = [:]

  func hasItem(forIdentifier identifier: String) -> Bool { items[identifier] != nil }
  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> String? {
    items[identifier]
  }
  func removeItem(forIdentifier identifier: String) throws { items[identifier] = nil }
  func storeItem(
    _ item: String, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) throws { items[identifier] = item }
}

struct GuardedContainerTests {
  @Test(arguments: GuardedKind.allCases)
  func `reads are refused while the gate is locked`(kind: GuardedKind) async throws {
    let test = TestGate()
    let session = Session(container: try kind.container(behind: test.gate), storageIdentifier: "a")
    try session.updateItem("secret")
    #expect(throws: (any Error).self) { try session.item() }
    guard case .unavailable(StoreError.locked) = session.state else { throw NeverHappened() }
    #expect(session.currentItem == nil)
    await #expect(throws: StoreError.self) { try await session.validItem() }
    #expect(test.askedCount == 0)
    try await test.open()
    #expect(try await session.item() == "secret")
    test.gate.invalidate()
    #expect(session.currentItem == nil)
    #expect(try await session.containsItem(), "a locked gate looks like a user who is signed out")
  }

  @Test(arguments: GuardedKind.allCases)
  func `checking the existence asks no question`(kind: GuardedKind) async throws {
    let test = TestGate()
    let container = try kind.container(behind: test.gate, whenLocked: .authenticate)
    #expect(try !container.containsItem(forIdentifier: "a"))
    try container.storeItem("secret", forIdentifier: "a")
    #expect(container.hasItem(forIdentifier: "a"))
    #expect(try await container.asyncContainsItem(forIdentifier: "a"))
    #expect(test.askedCount == 0)
  }

  private struct Person: Codable, Identifiable, Sendable {
    var id = "ada"
  }

  private struct Pass: Codable, ExpiringItem, Sendable {
    var expirationDate: Date? = .distantPast
  }

  @Test func `accounts and their rejections are listed while the gate is locked`() async throws {
    let test = TestGate()
    let store = MemoryStore()
    let open = try UserAccounts(
      container: StoreContainer<Pass>(store, service: "mail"),
      refresher: SessionRefresher { _ in .rejected(NeverHappened()) })
    let ada = try AccountIdentifier("ada")
    try await open.signIn(Pass(), as: ada)
    await #expect(throws: SessionError.self) { try await open.session(of: ada).validItem() }
    try await open.signIn(Pass(), as: AccountIdentifier("bob"))
    let guarded = try UserAccounts(
      container: StoreContainer<Pass>(
        GuardedStore(store, behind: test.gate, whenLocked: .authenticate), service: "mail"))
    #expect(
      try await guarded.currentStates().map { "\($0)" }
        == ["ada: signed out by the server: NeverHappened", "bob: signed in"])
    var states = guarded.states.makeAsyncIterator()
    #expect(await states.next()?.count == 2)
    #expect(test.askedCount == 0)
    // As for every session behind a gate.
    guard case .unavailable(StoreError.locked) = await guarded.session(of: ada).currentState()
    else { throw NeverHappened() }
    try await test.open()
    guard case .signedOut(.rejected) = await guarded.session(of: ada).currentState() else {
      throw NeverHappened()
    }
  }

  @Test(arguments: [GuardedStore.WhenLocked.authenticate, .wait(.seconds(3600))])
  func `a session's state and its end neither ask nor wait`(
    whenLocked: GuardedStore.WhenLocked
  ) async throws {
    let test = TestGate(.waiting)
    let base = try StoreContainer<Person>(MemoryStore(), service: "mail")
    let session = UserSession<Person>(
      container: GuardedContainer(base, behind: test.gate, whenLocked: whenLocked),
      storageIdentifier: "a", notificationPoster: nil)
    try await session.signIn(Person())
    var states = session.states.makeAsyncIterator()
    guard case .unavailable(StoreError.locked)? = await states.next() else {
      throw NeverHappened()
    }
    guard case .unavailable(StoreError.locked) = await session.currentState() else {
      throw NeverHappened()
    }
    try await session.signIn(Person(id: "eve"))
    try await session.signOut()
    #expect(try !base.containsItem(forIdentifier: "a"))
    #expect(test.askedCount == 0)
  }

  @Test(arguments: [GuardedStore.WhenLocked.refuse, .authenticate, .wait(.seconds(3600))])
  func `a refreshed item is stored although the gate was locked meanwhile`(
    whenLocked: GuardedStore.WhenLocked
  ) async throws {
    let test = TestGate()
    let base = try StoreContainer<String>(MemoryStore(), service: "mail")
    try base.storeItem("old", forIdentifier: "a")
    let refresher = SessionRefresher<String>(clock: test.clock) { [gate = test.gate] _ in
      gate.invalidate()
      return .refreshed("new")
    }
    let session = Session<String>(
      container: GuardedContainer(base, behind: test.gate, whenLocked: whenLocked),
      storageIdentifier: "a", refresher: refresher)
    try await test.open()
    let refreshing = Task { try await session.validItem(.always) }
    try await waitUntil { (try? base.item(forIdentifier: "a")) == "new" }
    if whenLocked != .authenticate { try await test.gate.authenticate() }
    // This fails if the container refuses, unless the gate was open again by then.
    _ = try? await refreshing.value
    #expect(try await session.item() == "new")
  }

  @Test func `names are listed without asking`() async throws {
    let test = TestGate()
    let store = GuardedStore(MemoryStore(), behind: test.gate, whenLocked: .authenticate)
    let name = try ItemName("a", in: "mail")
    try await store.put(SecretBytes(utf8: "secret"), for: name)
    #expect(try await store.names(in: nil) == [name])
    #expect(try await store.names(in: "mail") == [name])
    #expect(test.askedCount == 0)
    #expect(try await store.value(for: name) == SecretBytes(utf8: "secret"))
    #expect(test.askedCount == 1)
  }

  @Test(arguments: GuardedKind.allCases)
  func `reads wait if they are told to, but not forever`(kind: GuardedKind) async throws {
    let test = TestGate()
    let container = try kind.container(behind: test.gate, whenLocked: .wait(.seconds(10)))
    try container.storeItem("secret", forIdentifier: "a")
    let reading = Task { try await container.asyncLoadItem(forIdentifier: "a") }
    await test.clock.waitForSleeper(within: .seconds(10))
    try await test.open()
    #expect(try await reading.value == "secret")
    test.gate.invalidate()
    let late = Task { try await container.asyncLoadItem(forIdentifier: "a") }
    await test.clock.waitForSleeper(within: .seconds(10))
    test.clock.advance(by: .seconds(10))
    let error = await #expect(throws: StoreError.self) { try await late.value }
    #expect(error?.code == .timedOut)
    // A call that blocks never waits for a person.
    #expect(throws: StoreError.self) { try container.loadItem(forIdentifier: "a") }
  }

  @Test(arguments: GuardedKind.allCases)
  func `reads ask a question if they are told to`(kind: GuardedKind) async throws {
    let test = TestGate(.failure(.userCancelled), .success)
    let container = try kind.container(behind: test.gate, whenLocked: .authenticate)
    try container.storeItem("secret", forIdentifier: "a")
    let error = await #expect(throws: StoreError.self) {
      try await container.asyncLoadItem(forIdentifier: "a")
    }
    #expect(error?.code == .locked)
    #expect(error?.underlying is AuthenticationError)
    #expect(try await container.asyncLoadItem(forIdentifier: "a") == "secret")
  }

  @Test(arguments: GuardedKind.allCases)
  func `changes are guarded if they are told to be`(kind: GuardedKind) async throws {
    let test = TestGate()
    let container = try kind.container(behind: test.gate, guardsChanges: true)
    #expect(throws: StoreError.self) { try container.storeItem("new", forIdentifier: "a") }
    #expect(throws: StoreError.self) { try container.removeItem(forIdentifier: "a") }
    await #expect(throws: StoreError.self) {
      try await container.asyncStoreItem("new", forIdentifier: "a")
    }
    try await test.open()
    try await container.asyncStoreItem("new", forIdentifier: "a")
    #expect(try container.item(forIdentifier: "a") == "new")
  }

  @Test func `a guarded refresh of a store that compares for itself waits for the gate`()
    async throws
  {
    struct Token: Codable, ExpiringItem, Sendable {
      var number = 0
      var expirationDate: Date?
    }
    let test = TestGate()
    let (store, clock) = (OneStepStore(), test.clock)
    let refresher = SessionRefresher<Token>(clock: clock) { request in
      // Locked while the request is under way.
      if request.item.number == 0 { test.gate.invalidate() }
      return .refreshed(
        Token(number: request.item.number + 1, expirationDate: clock.now + 3600))
    }
    for guardsChanges in [false, true] {
      let plain = try StoreContainer<Token>(store, service: "mail")
      try plain.storeItem(Token(expirationDate: clock.now), forIdentifier: "token")
      let session = Session(
        container: GuardedContainer(plain, behind: test.gate, guardsChanges: guardsChanges),
        storageIdentifier: "token", refresher: refresher)
      try await test.open()
      // Also the refreshed item, which the waiting caller is not given past the gate.
      await #expect(throws: (any Error).self) { try await session.validItem() }
      #expect(try plain.item(forIdentifier: "token")?.number == (guardsChanges ? 0 : 1))
    }
  }

  @Test func `a refresh that waited for its turn at a store that leases reads through the gate`()
    async throws
  {
    struct Token: Codable, ExpiringItem, Sendable {
      var expirationDate: Date?
    }
    let test = TestGate()
    let calls = Recorder<Token>()
    let refresher = SessionRefresher<Token>(clock: test.clock) { request in
      calls.append(request.item)
      return .transientFailure(NeverHappened())
    }
    // Locked while the refresh waits.
    let store = LeasedStore { test.gate.invalidate() }
    let plain = try StoreContainer<Token>(store, service: "mail")
    try plain.storeItem(Token(expirationDate: test.clock.now), forIdentifier: "token")
    let session = Session(
      container: GuardedContainer(plain, behind: test.gate), storageIdentifier: "token",
      refresher: refresher)
    try await test.open()
    let error = await #expect(throws: StoreError.self) { try await session.validItem() }
    #expect(error?.code == .locked)
    #expect(store.accessCount == 1)
    #expect(calls.all.isEmpty)
  }

  @Test(arguments: GuardedKind.allCases)
  func `a session sees the gate open and lock`(kind: GuardedKind) async throws {
    let test = TestGate()
    let session = Session(container: try kind.container(behind: test.gate), storageIdentifier: "a")
    try session.updateItem("secret")
    var states = session.states.makeAsyncIterator()
    guard case .unavailable = await states.next() else { throw NeverHappened() }
    try await test.open()
    #expect(await states.next()?.item == "secret")
    test.gate.invalidate()
    guard case .unavailable = await states.next() else { throw NeverHappened() }
  }

  @Test func `sessions behind a gate and without one are refreshed once`() async throws {
    struct Token: Codable, ExpiringItem, Sendable {
      var number = 0
      var expirationDate: Date?
    }
    let test = TestGate()
    let (store, clock, calls) = (MemoryStore(), test.clock, Recorder<Int>())
    let refresher = SessionRefresher<Token>(clock: clock) { request in
      calls.append(request.item.number)
      return .refreshed(
        Token(number: request.item.number + 1, expirationDate: clock.now + 3600))
    }
    let plain = try StoreContainer<Token>(store, service: "mail")
    let sessions = [
      Session(
        container: GuardedContainer(plain, behind: test.gate), storageIdentifier: "t",
        refresher: refresher),
      Session(container: plain, storageIdentifier: "t", refresher: refresher),
    ]
    try sessions[1].updateItem(Token(expirationDate: clock.now))
    try await test.open()
    try await withThrowingTaskGroup(of: Int.self) { group in
      for number in 0..<100 {
        group.addTask { try await sessions[number % 2].validItem().number }
      }
      for try await number in group { #expect(number == 1) }
    }
    #expect(calls.all == [0])
  }
}
