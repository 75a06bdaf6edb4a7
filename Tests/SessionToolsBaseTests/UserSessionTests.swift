import Foundation
import SessionToolsBase
import Synchronization
import Testing

@Suite struct `a user session` {
  let ada = User(id: "ada")
  let poster = Recorder()
  let store = MemoryStore()
  let session: UserSession<User>

  init() throws {
    session = UserSession(
      container: try StoreContainer<User>(store, service: "mail"), storageIdentifier: "user",
      notificationPoster: poster)
  }

  private func session(over code: StoreError.Code) throws -> UserSession<User> {
    UserSession(
      container: try StoreContainer<User>(RefusingStore(code), service: "mail"),
      storageIdentifier: "user", notificationPoster: poster)
  }

  @Test func `each change is announced once`() throws {
    try session.userDidLogIn(ada)
    try session.userDidUpdate(User(id: "ada", token: "t1"))
    try session.userDidLogOut(logoutError: nil)
    #expect(poster.changes == ["loggedIn", "updated", "loggedOut"])
    #expect(poster.posts.current.allSatisfy { $0.name == .userSessionStateDidChange })
  }

  @Test func `the shorter spellings do the same`() throws {
    try session.didLogIn(ada)
    #expect(session.isLoggedIn && session.currentUser == ada)
    try session.didUpdate(User(id: "ada", token: "t1"))
    #expect(session.currentUser?.token == "t1")
    try session.didLogOut(TestError())
    #expect(!session.isLoggedIn && session.currentUser == nil)
    try session.didLogOut()
    #expect(poster.changes == ["loggedIn", "updated", "loggedOut with error", "loggedOut"])
  }

  @Test func `the words of this package do the same`() throws {
    try session.signIn(ada)
    #expect(session.isSignedIn && session.currentUser == ada)
    try session.update(User(id: "ada", token: "t1"))
    #expect(session.currentUser?.token == "t1")
    try session.save(ada)
    #expect(session.currentUser == ada)
    try session.signOut(TestError())
    try session.signOut()
    #expect(!session.isSignedIn)
    try session.save(ada)
    try session.remove()
    #expect(!session.isSignedIn)
    #expect(poster.changes == ["loggedIn", "updated", "loggedOut with error", "loggedOut"])
  }

  /// A class from iOS does its own work there.
  @Test func `what blocks calls what a subclass overrides`() throws {
    final class Counting: UserSession<User>, @unchecked Sendable {
      let calls = Mutex<[String]>([])
      override func userDidLogIn(_ user: User) throws {
        calls.withLock { $0.append("in") }
        try super.userDidLogIn(user)
      }
      override var isLoggedIn: Bool { true }
      override func userDidUpdate(_ user: User) throws {
        calls.withLock { $0.append("update") }
        try super.userDidUpdate(user)
      }
      override func userDidLogOut(logoutError error: (any Error)?) throws {
        calls.withLock { $0.append("out") }
        try super.userDidLogOut(logoutError: error)
      }
    }
    let session = Counting(
      container: try StoreContainer<User>(store, service: "mail"), storageIdentifier: "user")
    try session.signIn(ada)
    try session.update(ada)
    try session.signOut()
    #expect(session.calls.withLock { $0 } == ["in", "update", "out"])
    #expect(session.isSignedIn, "as its isLoggedIn says")
  }

  @Test func `the async calls do the same`() async throws {
    try await session.signIn(ada)
    #expect(session.currentUser == ada)
    try await session.update(User(id: "ada", token: "t1"))
    #expect(session.currentUser?.token == "t1")
    try await session.signOut(TestError())
    #expect(!session.isLoggedIn)
    try await session.update(ada)
    try await session.signIn(User(id: "bob"))
    try await session.signOut()
    #expect(
      poster.changes == [
        "loggedIn", "updated", "loggedOut with error", "loggedIn", "updated", "loggedOut",
        "loggedIn", "loggedOut",
      ])
  }

  @Test func `the object of a notification is the session`() throws {
    let other = UserSession(
      container: session.container, storageIdentifier: "other", notificationPoster: poster)
    try session.didLogIn(ada)
    try other.didLogIn(ada)
    #expect(
      poster.posts.current.map(\.object) == [ObjectIdentifier(session), ObjectIdentifier(other)])
  }

  @Test func `an observer of one session is not notified of another`() throws {
    let center = NotificationCenter()
    let mine = UserSession(
      container: session.container, storageIdentifier: "mine", notificationPoster: center)
    let others = UserSession(
      container: session.container, storageIdentifier: "others", notificationPoster: center)
    let heard = Shared<[String]>([])
    let observer = center.addObserver(
      forName: .userSessionStateDidChange, object: mine, queue: nil
    ) { notification in
      heard.update { $0.append(notification.userSessionState?.word ?? "none") }
    }
    try others.didLogIn(ada)
    try mine.didLogIn(ada)
    center.removeObserver(observer)
    #expect(heard.current == ["loggedIn"])
    #expect(Notification(name: .userSessionStateDidChange).userSessionState == nil)
  }

  @Test func `a notification comes after the change is stored, on the calling thread`() throws {
    let store = store
    let name = try ItemName("user", in: "mail")
    let wasStored = Shared<[Bool]>([])
    let poster = Recorder { _ in
      wasStored.update { $0.append(store.value(for: name) != nil) }
    }
    let session = UserSession(
      container: session.container, storageIdentifier: "user", notificationPoster: poster)
    try session.didLogIn(ada)
    try session.didLogOut()
    try session.didUpdate(ada)
    #expect(wasStored.current == [true, false, true, true])
    #expect(
      poster.posts.current.allSatisfy { $0.thread == ObjectIdentifier(Thread.current) })
  }

  @Test func `an observer may use the session`() throws {
    let box = Shared<UserSession<User>?>(nil)
    let poster = Recorder { change in
      if case .loggedIn = change { try? box.current?.didUpdate(User(id: "ada", token: "t1")) }
    }
    let session = UserSession(
      container: session.container, storageIdentifier: "user", notificationPoster: poster)
    box.update { $0 = session }
    try session.didLogIn(ada)
    #expect(session.currentUser?.token == "t1")
    box.update { $0 = nil }
  }

  @Test func `a change that failed is not announced`() async throws {
    let session = try session(over: StoreError.locked)
    expectFailure(StoreError.locked) { try session.didLogIn(ada) }
    expectFailure(StoreError.locked) { try session.didUpdate(ada) }
    expectFailure(StoreError.locked) { try session.didLogOut() }
    await expectFailure(StoreError.locked) { try await session.signIn(User(id: "ada")) }
    await expectFailure(StoreError.locked) { try await session.update(User(id: "ada")) }
    await expectFailure(StoreError.locked) { try await session.signOut() }
    #expect(poster.changes.isEmpty)
  }

  @Test func `an update while signed out is a sign-in`() throws {
    try session.didUpdate(ada)
    #expect(poster.changes == ["loggedIn", "updated"])
  }

  @Test func `an update of a user who cannot be decoded is not a sign-in`() throws {
    try store.put(SecretBytes(utf8: "damaged"), for: ItemName("user", in: "mail"))
    try session.didUpdate(ada)
    #expect(poster.changes == ["updated"])
  }

  @Test func `logging in over another user logs that one out first`() throws {
    try session.didLogIn(ada)
    try session.didLogIn(User(id: "ada", token: "t1"))
    try session.didLogIn(User(id: "bob"))
    #expect(poster.changes == ["loggedIn", "loggedIn", "loggedOut", "loggedIn"])
    #expect(session.currentUser?.id == "bob")
  }

  @Test func `users without an identity are not distinguished`() throws {
    let session = UserSession(
      container: try StoreContainer<String>(store, service: "mail"), storageIdentifier: "name",
      notificationPoster: poster)
    try session.didLogIn("ada")
    try session.didLogIn("bob")
    #expect(poster.changes == ["loggedIn", "loggedIn"])
  }

  @Test func `a user who cannot be decoded is replaced by a login`() throws {
    try store.put(SecretBytes(utf8: "damaged"), for: ItemName("user", in: "mail"))
    try session.didLogIn(ada)
    #expect(poster.changes == ["loggedIn"])
    #expect(session.currentUser == ada)
  }

  @Test func `a locked store is unavailable, not logged out`() throws {
    let session = try session(over: StoreError.locked)
    #expect(!session.isLoggedIn && session.currentUser == nil)
    #expect(session.state.word == "unavailable: locked")
  }

  @Test func `a subclass may override what a login does`() throws {
    final class Counting: UserSession<User>, @unchecked Sendable {
      let logIns = Shared(0)
      override func userDidLogIn(_ user: User) throws {
        try super.userDidLogIn(user)
        logIns.update { $0 += 1 }
      }
    }
    let session = Counting(
      container: session.container, storageIdentifier: "user", notificationPoster: nil)
    try session.didLogIn(ada)
    #expect(session.logIns.current == 1)
  }
}
