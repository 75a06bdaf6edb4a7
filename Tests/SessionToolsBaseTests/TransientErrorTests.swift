import Foundation
import SessionToolsBase
import Testing

@Suite struct `an error that may pass by itself` {
  @Test(arguments: [
    (StoreError.timedOut, true), (StoreError.changed, true), (StoreError.exclusionLost, true),
    (StoreError.locked, false), (StoreError.unavailable, false), (StoreError.noSpace, false),
    (StoreError.outcomeUnknown, false), (StoreError.corrupt, false), (StoreError.cancelled, false),
  ])
  func `is one of a store by its code, unless the store says more`(
    _ code: StoreError.Code, _ isTransient: Bool
  ) {
    let error = StoreError(code, store: "store", reason: "reason")
    #expect(error.isTransient == isTransient)
    let other = StoreError(code, store: "store", reason: "reason", isTransient: !isTransient)
    #expect(other.isTransient == !isTransient)
    #expect(other.advising("remedy").isTransient == !isTransient)
    #expect(other.adding("more").isTransient == !isTransient)
    #expect(other.with(.noStore).isTransient == !isTransient)
  }

  @Test(arguments: [(ENOMEM, true), (EMFILE, true), (EAGAIN, true), (EACCES, false), (EIO, false)])
  func `is a system call without memory or descriptors`(_ number: Int32, _ isTransient: Bool) {
    let error = StoreError(SystemCallError("open", number), path: "/store")
    #expect(error.isTransient == isTransient)
  }

  /// What the handler's error says counts more than that a refresh failed.
  @Test func `is a refresh that failed, if its cause may pass`() async throws {
    struct OtherError: Error {}
    let causes: [(any Error, Bool)] = [
      (StoreError(.unavailable, store: "server", reason: "down", isTransient: true), true),
      (StoreError(.locked, store: "server", reason: "locked"), false), (OtherError(), true),
    ]
    var policy = RefreshPolicy()
    policy.maximumAttemptCount = 1
    for (cause, isTransient) in causes {
      let session = UserSession<User>(
        container: try StoreContainer<User>(MemoryStore(), service: "mail"),
        storageIdentifier: "user",
        refresher: SessionRefresher(policy: policy, expiration: { _ in .distantPast }) { _ in
          throw cause
        })
      try await session.signIn(User(id: "ada"))
      do {
        _ = try await session.validItem()
        Issue.record("no error")
      } catch let error as any SessionToolsError {
        #expect(error.isTransient == isTransient, "\(error)")
        #expect(RefreshError.unableToRefresh(error: error).isTransient == isTransient)
      }
      try await session.signOut()
      let error = await #expect(throws: SessionError.self) { try await session.validItem() }
      #expect(error?.isTransient == false)
    }
    #expect(!RefreshError.noToken.isTransient)
  }
}
