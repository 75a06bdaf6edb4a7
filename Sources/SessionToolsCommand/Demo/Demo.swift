import Dispatch
import Foundation
import SealedStore
import SessionToolsBase

/// The main job of the library, shown with the library itself.
enum Demo {
  private struct User: Codable, Sendable {
    let name: String
    let email: String
    var token: String
  }

  static func run() throws {
    // Another process is started from there.
    try TaskThreads.check()
    let directory = try DemoDirectory()
    let store = try makeStore(directory)
    let session = try session(in: store)
    let observer = try announceChanges(of: session)
    defer { NotificationCenter.default.removeObserver(observer) }

    try signIn(session, directory)
    try refresh(session)
    try readInAnotherProcess(directory)
    try refuseWrongKey(directory)
    try findFlippedBit(store, directory)
    try signOut(session, directory)
    try say("\nAll of it has been removed again.")
  }

  /// Reads the session, as the other process of the demonstration.
  static func read(path: String, keyFile: String) throws {
    let store = try SealedFileStore.open(at: path, key: KeyFile(keyFile))
    let process = ProcessInfo.processInfo.processIdentifier
    switch try session(in: store).state {
    case .signedIn(let user):
      try show("process \(process): \(user.name) <\(user.email)> is signed in")
    case .signedOut: try show("process \(process): no one is signed in")
    case .unavailable(let error): throw error
    }
  }

  // MARK: - Steps

  private static func makeStore(_ directory: DemoDirectory) throws -> SealedFileStore {
    try title("A store is created, and its key is kept elsewhere")
    let key = try KeyFile.create(at: directory.keyFile)
    let store = try SealedFileStore.create(at: directory.store, key: key)
    try show("store: \(directory.store)")
    try show("key:   \(directory.keyFile)")
    try show("\(store.protection())")
    return store
  }

  private static func session(in store: SealedFileStore) throws -> UserSession<User> {
    UserSession<User>(
      container: try StoreContainer<User>(store, service: "com.example.demo"),
      storageIdentifier: "user", notificationPoster: NotificationCenter.default)
  }

  private static func announceChanges(
    of session: UserSession<User>
  ) throws -> any NSObjectProtocol {
    NotificationCenter.default.addObserver(
      forName: .userSessionStateDidChange, object: session, queue: nil
    ) { notification in
      let change =
        switch notification.userSessionState {
        case .loggedIn: "signed in"
        case .loggedOut: "signed out"
        case .updated: "updated"
        case nil: "none"
        }
      // If the output is closed, the demonstration needs no line.
      try? show("notification: \(change)")
    }
  }

  private static func signIn(_ session: UserSession<User>, _ directory: DemoDirectory) throws {
    try title("Ada signs in")
    let user = User(name: "Ada", email: "ada@example.com", token: "first token")
    try session.signIn(user)
    let journal = try directory.journal
    let isReadable = [user.email, user.token, "com.example.demo"].contains { text in
      journal.range(of: Data(text.utf8)) != nil
    }
    try show(
      "on disk: \(journal.count) bytes, her address and token "
        + (isReadable ? "READABLE in them" : "nowhere in them"))
  }

  private static func refresh(_ session: UserSession<User>) throws {
    try title("Her token is refreshed")
    session.refreshHandler = { [weak session] completion in
      // A real handler asks the server here.
      guard let session, var user = session.currentUser else { return completion(nil) }
      user.token = "second token"
      do {
        try session.update(user)
        completion(nil)
      } catch {
        completion(.unableToRefresh(error: error))
      }
    }
    var failure: RefreshError?
    let isAnswered = DispatchSemaphore(value: 0)
    session.refresh { error in
      failure = error
      isAnswered.signal()
    }
    isAnswered.wait()
    if let failure { throw failure }
    try show("stored now: the \(try session.item()?.token ?? "old one")")
  }

  private static func readInAnotherProcess(_ directory: DemoDirectory) throws {
    try title("Another process opens the same session")
    try spawnReader(directory)
  }

  private static func refuseWrongKey(_ directory: DemoDirectory) throws {
    try title("A wrong key is refused")
    do throws(StoreError) {
      _ = try SealedFileStore.open(at: directory.store, key: try RawKey(RawKey.random()))
      try show("it was NOT refused")
    } catch {
      try show("\(error.code): \(error.reason)")
    }
  }

  private static func findFlippedBit(_ store: SealedFileStore, _ directory: DemoDirectory) throws {
    let offset = try store.verify().journalByteCount - 40
    try title("One bit of the journal is flipped, at byte \(offset)")
    try directory.flipBit(at: offset)
    let report = try store.verify()
    for finding in report.findings { try show("verify: \(finding.description)") }
    try directory.flipBit(at: offset)
    let isSound = try store.verify().isSound
    try show(isSound ? "flipped back: sound" : "flipped back: still NOT sound")
  }

  private static func signOut(_ session: UserSession<User>, _ directory: DemoDirectory) throws {
    try title("Ada signs out")
    try session.signOut()
    try spawnReader(directory)
  }

  private static func spawnReader(_ directory: DemoDirectory) throws {
    let reader = LimitedProgram(
      try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"),
      ["demo-reader", directory.store, directory.keyFile], maximumOutputByteCount: 1 << 16,
      timeout: .seconds(60))
    switch try reader.run() {
    case .ended(status: 0, let output, _):
      try StandardOutput.write(String(decoding: output.copyBytes(), as: UTF8.self))
    case .ended(_, _, let complaint):
      throw Failure(.failure, "the other process failed: \(complaint)")
    case .wroteTooMuch, .tookTooLong, .wantedTerminal:
      throw Failure(.failure, "the other process took too long or wrote too much, and was ended")
    }
  }

  // MARK: - Words

  private static func title(_ text: String) throws(StoreError) {
    try say(StandardOutput.isTerminal ? "\n\u{1b}[1m\(text)\u{1b}[m" : "\n\(text)")
  }

  private static func show(_ text: String) throws(StoreError) {
    try say("  \(text.escapingControls())")
  }

  private static func say(_ text: String) throws(StoreError) {
    try StandardOutput.write(text + "\n")
  }
}
