import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase
import Synchronization
import Testing

/// A session whose item is in gnome-keyring, which is locked while the session is used.
@Suite(.fewAtATime) struct SessionTests {
  private struct Tokens: Codable, Equatable, Sendable {
    var number: Int
  }

  /// A refresh handler that counts its calls.
  private final class Handler: Sendable {
    let callCount = Mutex(0)
    let during = Mutex<(@Sendable () async throws -> Void)?>(nil)

    func refresh(_ request: RefreshRequest<Tokens>) async throws -> RefreshOutcome<Tokens> {
      callCount.withLock { $0 += 1 }
      if let during = during.withLock({ $0.take() }) { try await during() }
      return .refreshed(Tokens(number: request.item.number + 1))
    }

    var count: Int { callCount.withLock(\.self) }
  }

  private let handler = Handler()

  private func session(on bus: PrivateBus) throws -> UserSession<Tokens> {
    let handler = handler
    // A unique name, because to this process the default collections of all buses are the same.
    return UserSession(
      container: try StoreContainer<Tokens>(bus.store(), service: "session \(UUID().uuidString)"),
      storageIdentifier: "tokens", refresher: SessionRefresher { try await handler.refresh($0) })
  }

  @Test func `a session in a locked keyring is unavailable, not signed out, until it is unlocked`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let session = try session(on: bus)
    try await session.signIn(Tokens(number: 0))
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.item == Tokens(number: 0))
    #expect(try await session.validItem(.always).number == 1)
    #expect(await states.next()?.item == Tokens(number: 1))

    try await OtherClient(on: bus).lock()
    let locked = await states.next()
    guard case .unavailable(StoreError.locked) = locked else {
      Issue.record("\(String(describing: locked))")
      return
    }
    for strategy in [RefreshStrategy.ifNeeded, .always, .never] {
      #expect(await failure { try await session.validItem(strategy) } == StoreError.locked)
    }
    #expect(handler.count == 1)

    try await GnomeKeyring.signIn(on: bus)
    #expect(await states.next()?.item == Tokens(number: 1))
    #expect(try await session.validItem(.always).number == 2)
    withExtendedLifetime(keyring) {}
  }

  @Test func `an item that cannot be stored because the keyring was locked is stored later`()
    async throws
  {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let session = try session(on: bus)
    try await session.signIn(Tokens(number: 0))
    handler.during.withLock { during in
      during = { try await OtherClient(on: bus).lock() }
    }
    // The token is spent, and the new one cannot be stored.
    #expect(await failure { try await session.validItem(.always) } == StoreError.locked)
    #expect(await failure { try await session.validItem(.always) } == StoreError.locked)
    try await GnomeKeyring.signIn(on: bus)
    #expect(try await session.validItem(.always).number == 1)
    #expect(handler.count == 1, "no token was spent again")
    #expect(try await session.item()?.number == 1)
    withExtendedLifetime(keyring) {}
  }

  @Test func `a rejection while the keyring is locked removes nothing`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let store = bus.store()
    let rejecting = UserSession(
      container: try StoreContainer<Tokens>(store, service: "session \(UUID().uuidString)"),
      storageIdentifier: "tokens",
      refresher: SessionRefresher<Tokens> { _ in
        try await OtherClient(on: bus).lock()
        return .rejected(CocoaError(.userCancelled))
      })
    try await rejecting.signIn(Tokens(number: 0))
    #expect(await failure { try await rejecting.validItem(.always) } == StoreError.locked)
    try await GnomeKeyring.signIn(on: bus)
    #expect(try await rejecting.item()?.number == 0)
    withExtendedLifetime(keyring) {}
  }

  @Test func `changes by another connection arrive`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await GnomeKeyring(on: bus)
    let service = "session \(UUID().uuidString)"
    let session = Session(
      container: try StoreContainer<Tokens>(bus.store(), service: service),
      storageIdentifier: "tokens")
    let other = Session(
      container: try StoreContainer<Tokens>(bus.store(), service: service),
      storageIdentifier: "tokens")
    try await other.save(Tokens(number: 0))
    var states = session.states.makeAsyncIterator()
    #expect(await states.next()?.item?.number == 0)
    var delays: [Duration] = []
    for number in 1...50 {
      try await other.save(Tokens(number: number))
      let start = ContinuousClock.now
      #expect(await states.next()?.item?.number == number)
      delays.append(.now - start)
    }
    // For information only.
    delays.sort()
    print("a change in gnome-keyring arrived after \(delays[25]) (median), \(delays[49]) (longest)")
    withExtendedLifetime(keyring) {}
  }
}
