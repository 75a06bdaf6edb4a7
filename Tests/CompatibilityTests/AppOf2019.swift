// swift-format-ignore-file: OmitExplicitReturns
// A lone expression needed its return until Swift 5.1.

import Foundation
import SessionTools

// The sources of an app written against iOS-SessionTools: a model, containers of its own, two
// kinds of session and a manager. What matters is that they compile as they are.

struct Account: Codable, Equatable {
  let handle: String
  var token: String
  var generation = 0
}

/// A container that is a value, with the four methods spelled out and nothing else.
struct DefaultsContainer: SessionContainer {
  private let defaults: Shelf

  init(_ shelf: Shelf) {
    defaults = shelf
  }

  func hasItem(forIdentifier identifier: String) -> Bool {
    return defaults.entries[identifier] != nil
  }

  func item(forIdentifier identifier: String, jsonDecoder: JSONDecoder) throws -> Account? {
    guard let data = defaults.entries[identifier] else { return nil }
    return try jsonDecoder.decode(Account.self, from: data)
  }

  func removeItem(forIdentifier identifier: String) throws {
    defaults.entries[identifier] = nil
  }

  func storeItem(
    _ item: Account, forIdentifier identifier: String, jsonEncoder: JSONEncoder
  ) throws {
    defaults.entries[identifier] = try jsonEncoder.encode(item)
  }
}

/// Plain mutable state, as was usual before Sendable.
class Shelf {
  var entries = [String: Data]()
}

/// A generic container that is a class, has defaults for its coders and swallows what it
/// cannot decode.
class DictionaryContainer<Value: Codable>: SessionContainer {
  var entries = [String: Data]()

  func hasItem(forIdentifier identifier: String) -> Bool {
    return entries[identifier] != nil
  }

  func item(
    forIdentifier identifier: String, jsonDecoder: JSONDecoder = JSONDecoder()
  ) throws -> Value? {
    guard let data = entries[identifier] else { return nil }
    return try? jsonDecoder.decode(Value.self, from: data)
  }

  func removeItem(forIdentifier identifier: String) throws {
    entries.removeValue(forKey: identifier)
  }

  func storeItem(
    _ item: Value, forIdentifier identifier: String, jsonEncoder: JSONEncoder = JSONEncoder()
  ) throws {
    entries[identifier] = try jsonEncoder.encode(item)
  }
}

/// A session that refreshes itself and has state of its own.
class CounterSession: Session<Account>, Refreshable {
  private(set) var refreshCount = 0

  func refresh(completion: @escaping RefreshCompletion) {
    refreshCount += 1
    var account = currentItem
    account?.generation += 1
    do {
      try updateItem(account)
      completion(nil)
    } catch {
      completion(.unableToRefresh(error: error))
    }
  }
}

/// A session that overrides the initializer.
class NamedSession: Session<Account> {
  let name: String

  override init(
    container: AnySessionContainer<Account>, storageIdentifier: String,
    notificationPoster: NotificationPosting? = nil, itemEncoder: JSONEncoder = JSONEncoder(),
    itemDecoder: JSONDecoder = JSONDecoder()
  ) {
    name = storageIdentifier
    super.init(
      container: container, storageIdentifier: storageIdentifier,
      notificationPoster: notificationPoster, itemEncoder: itemEncoder, itemDecoder: itemDecoder)
  }
}

/// A poster for tests, with plain flags.
class FlagPoster: NotificationPosting {
  var wasLogIn = false
  var wasLogOut = false
  var wasUpdate = false
  var lastObject: Any?

  func post(
    name aName: NSNotification.Name, object anObject: Any?, userInfo aUserInfo: [AnyHashable: Any]?
  ) {
    guard
      let change = aUserInfo?[UserSessionConstants.userSessionStateInfoKey]
        as? UserSessionStateChange
    else { return }
    lastObject = anObject
    switch change {
    case .loggedIn: wasLogIn = true
    case .loggedOut(_): wasLogOut = true
    case .updated: wasUpdate = true
    }
  }
}

/// A tracker of the app's own, written against the original protocol.
class OfflineTracker: UserSessionTrackable {
  var currentUser: Account?
  var isLoggedIn: Bool { return currentUser != nil }

  func userDidLogIn(_ user: Account) throws { currentUser = user }
  func userDidLogOut(logoutError error: Error?) throws { currentUser = nil }
  func userDidUpdate(_ user: Account) throws { currentUser = user }
}

class AppSessions {
  static let shared = AppSessions()

  let userContainer = DictionaryContainer<Account>()
  private var userSession: UserSession<Account>
  private var counterSession: CounterSession

  var currentUser: Account? {
    return userSession.currentUser
  }

  var isLoggedIn: Bool {
    return userSession.isLoggedIn
  }

  private init() {
    let anyUserContainer = AnySessionContainer(userContainer)
    userSession = UserSession(
      container: anyUserContainer, storageIdentifier: "account",
      notificationPoster: NotificationCenter.default, refreshHandler: AppSessions.refreshUser)
    counterSession = CounterSession(
      container: AnySessionContainer(DictionaryContainer<Account>()),
      storageIdentifier: "counter")
  }

  private static func refreshUser(_ completion: @escaping RefreshCompletion) {
    completion(nil)
  }

  func userDidLogIn(_ user: Account) {
    try? userSession.userDidLogIn(user)
    if !counterSession.hasItem {
      try? counterSession.updateItem(user)
    }
  }

  func userDidLogOut() {
    try? userSession.userDidLogOut(logoutError: nil)
    try? counterSession.deleteItem()
  }

  func refreshAll(completion: @escaping RefreshAllCompletion) {
    let sessions: [Refreshable] = [userSession, counterSession]
    sessions.refresh { errors in
      completion(errors)
    }
  }

  var counterGeneration: Int? {
    return counterSession.currentItem?.generation
  }
}

/// Switches without a default: they would no longer compile if the library added a case.
func describe(_ error: RefreshError) -> String {
  switch error {
  case .noToken: return "no token"
  case .unableToRefresh(let error): return "unable: \(error)"
  }
}

func describe(_ strategy: RefreshStrategy) -> String {
  switch strategy {
  case .always: return "always"
  case .ifNeeded: return "if needed"
  case .never: return "never"
  }
}

func describe(_ lifecycle: KeychainLifecycle) -> String {
  switch lifecycle {
  case .unmanaged: return "unmanaged"
  case .currentInstall(let identifier): return identifier
  }
}

func describe(_ notification: Notification) -> String? {
  guard let change = notification.userSessionState else { return nil }
  switch change {
  case .loggedIn: return "in"
  case .loggedOut(let error): return error == nil ? "out" : "out with error"
  case .updated: return "updated"
  }
}
