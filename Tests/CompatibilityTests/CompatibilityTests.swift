import Foundation
import SessionTools
import Testing

/// The lines that an observer's closure collects.
class Heard {
  var lines = [String]()
}

@Suite struct `code written against iOS-SessionTools` {
  let account = Account(handle: "ada", token: "t0", generation: 0)

  @Test func `a session stores, reads and deletes through a container that is a struct`() throws {
    let session = Session<Account>(
      container: AnySessionContainer(DefaultsContainer(Shelf())), storageIdentifier: "id")
    #expect(!session.hasItem)
    try session.updateItem(account)
    #expect(session.hasItem)
    #expect(session.currentItem == account)
    try session.updateItem(nil)
    #expect(session.currentItem == account)
    try session.deleteItem()
    #expect(session.currentItem == nil)
  }

  @Test func `a session takes a container that is not wrapped, as in the README`() throws {
    let container = DictionaryContainer<Account>()
    let session = Session<Account>(container: container, storageIdentifier: "id")
    let user = UserSession<Account>(
      container: container, storageIdentifier: "user",
      notificationPoster: NotificationCenter.default)
    let inferred = UserSession(
      container: container, storageIdentifier: "user", notificationPoster: nil)
    try session.updateItem(account)
    #expect(try container.item(forIdentifier: "id") == account)
    #expect(user.currentUser == nil && inferred.currentUser == nil)
  }

  @Test func `a session keeps the values it was made with`() {
    let poster = FlagPoster()
    let encoder = JSONEncoder()
    let decoder = JSONDecoder()
    let session = NamedSession(
      container: AnySessionContainer(DictionaryContainer<Account>()), storageIdentifier: "id",
      notificationPoster: poster, itemEncoder: encoder, itemDecoder: decoder)
    #expect(session.name == "id" && session.storageIdentifier == "id")
    #expect(session.encoder === encoder && session.decoder === decoder)
    #expect(session.notificationPoster as? FlagPoster === poster)
    #expect(session.container.hasItem(forIdentifier: "id") == false)
  }

  @Test func `both spellings log in, update and log out, and post`() throws {
    let poster = FlagPoster()
    let session = UserSession<Account>(
      container: AnySessionContainer(DictionaryContainer<Account>()), storageIdentifier: "id",
      notificationPoster: poster)
    try session.userDidLogIn(account)
    #expect(poster.wasLogIn && session.isLoggedIn && session.currentUser == account)
    try session.userDidUpdate(account)
    #expect(poster.wasUpdate)
    try session.userDidLogOut(logoutError: nil)
    #expect(poster.wasLogOut && !session.isLoggedIn)
    #expect(poster.lastObject as? UserSession<Account> === session)

    try session.didLogIn(account)
    #expect(session.currentUser == account)
    try session.didUpdate(Account(handle: "ada", token: "t1", generation: 0))
    #expect(session.currentUser?.token == "t1")
    try session.didLogOut(nil)
    #expect(!session.isLoggedIn)
  }

  @Test func `an update posts updated even if no user was signed in`() throws {
    let poster = FlagPoster()
    let session = UserSession<Account>(
      container: AnySessionContainer(DictionaryContainer<Account>()), storageIdentifier: "id",
      notificationPoster: poster)
    try session.userDidUpdate(account)
    #expect(poster.wasUpdate)
  }

  @Test func `a handler set later is called`() async {
    let session = UserSession<Account>(
      container: AnySessionContainer(DictionaryContainer<Account>()), storageIdentifier: "id",
      notificationPoster: nil)
    var callCount = 0
    session.refreshHandler = { completion in
      callCount += 1
      completion(nil)
    }
    var answers = [String]()
    await withCheckedContinuation { continuation in
      session.refresh { error in
        answers.append(error.map(describe) ?? "done")
        continuation.resume()
      }
    }
    await withCheckedContinuation { continuation in
      session.refresh(completion: { error in
        answers.append(error.map(describe) ?? "done")
        continuation.resume()
      })
    }
    #expect(callCount == 2)
    #expect(answers == ["done", "done"])
  }

  @Test func `an array of Refreshable is refreshed with its errors passed on`() {
    struct Failing: Refreshable {
      func refresh(completion: @escaping RefreshCompletion) { completion(.noToken) }
    }
    let counter = CounterSession(
      container: AnySessionContainer(DictionaryContainer<Account>()), storageIdentifier: "id")
    let good: [Refreshable] = [counter, counter]
    let bad: [Refreshable] = [counter, Failing()]
    var goodErrors: [RefreshError]? = [.noToken]
    var badErrors: [RefreshError]?
    good.refresh { goodErrors = $0 }
    bad.refresh { (errors) in badErrors = errors }
    #expect(goodErrors == nil)
    #expect(badErrors?.map(describe) == ["no token"])
    #expect(counter.refreshCount == 3)
  }

  @Test func `old methods are called in async functions without await`() async throws {
    let container = AnySessionContainer(DictionaryContainer<Account>())
    try container.storeItem(account, forIdentifier: "id", jsonEncoder: JSONEncoder())
    #expect(try container.item(forIdentifier: "id", jsonDecoder: JSONDecoder()) == account)
    #expect(container.hasItem(forIdentifier: "id"))
    try container.removeItem(forIdentifier: "id")

    let session = UserSession<Account>(
      container: container, storageIdentifier: "id", notificationPoster: nil,
      refreshHandler: { $0(nil) })
    try session.userDidLogIn(account)
    try session.didUpdate(account)
    try session.updateItem(account)
    #expect(session.hasItem && session.isLoggedIn)
    #expect(session.currentItem == account && session.currentUser == account)
    session.refresh { _ in }
    let all: [Refreshable] = [session]
    all.refresh { _ in }
    try session.deleteItem()
    try session.userDidLogOut(logoutError: nil)
    let refresh = session.refresh
    refresh({ _ in })
  }

  @Test func `a tracker of the app's own has both spellings`() throws {
    let tracker = OfflineTracker()
    try tracker.didLogIn(account)
    #expect(tracker.isLoggedIn)
    try tracker.didLogOut(nil)
    #expect(!tracker.isLoggedIn)
  }

  @Test func `every old type still has its cases`() {
    #expect(describe(RefreshStrategy.ifNeeded) == "if needed")
    #expect(describe(KeychainLifecycle.unmanaged) == "unmanaged")
    #expect(describe(.currentInstall(identifier: "i1")) == "i1")
    #expect(KeychainLifecycle.currentInstall(identifier: "a") != .unmanaged)
    #expect(UserSessionConstants.userSessionStateInfoKey == "userSessionStateInfoKey")
    #expect(Notification.Name.userSessionStateDidChange.rawValue == "userSessionStateDidChange")
    let handler: RefreshHandler = { completion in completion(RefreshError.noToken) }
    let completion: RefreshCompletion = { (error: RefreshError?) -> Void in _ = error }
    let all: RefreshAllCompletion = { (errors: [RefreshError]?) in _ = errors }
    handler(completion)
    all(nil)
  }

  @Test func `a keychain's configuration has the names that upstream's tests ask for`() {
    let config = KeychainContainerConfig(
      keychainName: "com.example.mail", accessGroupName: "com.example",
      lifecycle: .currentInstall(identifier: "i1"))
    #expect(config.keychainName == "i1com.example.mail")
    #expect(config.accessGroupName == "com.example")
    #expect(config.keychainLifecycle == .currentInstall(identifier: "i1"))
    let plain = KeychainContainerConfig(keychainName: "com.example.mail")
    #expect(plain.keychainName == "com.example.mail" && plain.accessGroupName == nil)
    #expect(plain.keychainLifecycle == .unmanaged)
  }

  @Test func `a manager shares one session, and observers are notified`() async throws {
    let heard = Heard()
    let observer = NotificationCenter.default.addObserver(
      forName: .userSessionStateDidChange, object: nil, queue: nil
    ) { notification in
      guard
        (notification.object as? UserSession<Account>)?.currentUser?.handle == "manager's"
      else { return }
      heard.lines.append(describe(notification) ?? "none")
    }
    defer { NotificationCenter.default.removeObserver(observer) }
    let manager = AppSessions.shared
    manager.userDidLogIn(Account(handle: "manager's", token: "t", generation: 0))
    #expect(manager.isLoggedIn && manager.currentUser?.token == "t")
    var errors: [RefreshError]? = []
    await withCheckedContinuation { continuation in
      manager.refreshAll {
        errors = $0
        continuation.resume()
      }
    }
    #expect(errors == nil)
    #expect(manager.counterGeneration == 1)
    manager.userDidLogOut()
    #expect(manager.currentUser == nil)
    #expect(heard.lines == ["in"])
  }
}
