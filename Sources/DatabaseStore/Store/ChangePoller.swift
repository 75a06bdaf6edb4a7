import Foundation
import SealedStore
public import SecretStores

/// The change streams of a store, on a thread and a connection of their own.
///
/// A change by any machine is heard within milliseconds by a notification that the machine sends
/// after it, and within a second without.
final class ChangePoller: Sendable {
  private let database: Database
  private let keys: StoreKeys
  private let statement: DatabaseStatement
  private let channel: String
  private let hidingLimit: Duration
  private let observers = Observers()
  private let waker = Waker()
  private let state = Lock(State())

  private struct State {
    var isRunning = false
    var isStopped = false
    /// Whether this process has made changes that others have to be told of.
    var hasNews = false
    /// Whether listeners have to be told that anything may have changed.
    var mustResynchronize = false
  }

  /// The shortest time from one look to the next.
  private static let minimumPause = Duration.milliseconds(20)
  private static let maximumPause = Duration.seconds(1)

  init(_ database: Database, _ keys: StoreKeys, _ environment: DatabaseEnvironment) {
    hidingLimit = environment.hidingLimit
    self.database = database
    self.keys = keys
    statement = ChangePoll.statement(database.statements.schema)
    channel = "session_tools_\(keys.store.bytes.hexadecimal)"
  }

  /// Returns a stream of the changes from now on.
  func stream(of names: Set<ItemName>? = nil) -> AsyncStream<StoreEvent> {
    let stream = observers.stream(of: names)
    start { _ in }
    return stream
  }

  /// Notifies the other machines, and this one's listeners, of a change.
  func ring() { start { $0.hasNews = true } }

  /// Notifies the listeners that anything may have changed.
  func resynchronize() { start { $0.mustResynchronize = true } }

  /// Ends all streams, and the thread.
  func stop() {
    state.withLock { $0.isStopped = true }
    observers.finish()
    waker.wake()
  }

  private func start(_ change: (inout State) -> Void) {
    let isFirst = state.withLock { state in
      change(&state)
      defer { state.isRunning = true }
      return !state.isRunning
    }
    waker.wake()
    guard isFirst else { return }
    let thread = Thread { self.run() }
    thread.name = "database changes"
    thread.start()
  }

  // MARK: - The thread

  /// What the thread knows.
  private struct Progress {
    var connection: DatabaseConnection?
    var cursor: ChangePoll.Cursor?
    var pause = ChangePoller.maximumPause
    var failurePause = OpeningPause()
    /// Since when there have been transactions that may hide changes.
    var hiddenSince: ContinuousClock.Instant?
  }

  private func run() {
    var progress = Progress()
    while !state.withLock({ $0.isStopped }) {
      waker.clear()
      let start = ContinuousClock.now
      do throws(DatabaseFailure) {
        try work(&progress)
        Self.sleep(until: start + Self.minimumPause)
      } catch {
        progress.connection?.close()
        progress.connection = nil
        progress.failurePause.fail(error)
        // A waker that is woken often is no reason to connect more often.
        Self.sleep(until: progress.failurePause.end ?? start)
      }
    }
    progress.connection?.close()
  }

  private static func sleep(until end: ContinuousClock.Instant) {
    let left = end - .now
    if left > .zero { Thread.sleep(forTimeInterval: left / .seconds(1)) }
  }

  /// Notifies others of changes made here, looks for changes, and waits for the next reason.
  private func work(_ progress: inout Progress) throws(DatabaseFailure) {
    let connection: DatabaseConnection
    if let open = progress.connection {
      connection = open
    } else {
      connection = try connect()
      progress.connection = connection
    }
    progress.failurePause.succeed()
    let (hasNews, mustResynchronize) = state.withLock { state in
      defer { (state.hasNews, state.mustResynchronize) = (false, false) }
      return (state.hasNews, state.mustResynchronize)
    }
    if mustResynchronize { observers.report(.resynchronize) }
    if hasNews {
      progress.pause = Self.minimumPause
      try report(on: connection)
    }
    if observers.isEmpty {
      // The next listener begins with the first look after this.
      progress.cursor = nil
      progress.pause = .seconds(60)
    } else {
      try check(&progress, on: connection)
    }
    let wasNotified = try connection.waitForNotification(
      or: waker.descriptor, until: .now + progress.pause)
    if wasNotified { progress.pause = Self.minimumPause }
  }

  private func connect() throws(DatabaseFailure) -> DatabaseConnection {
    let deadline = ContinuousClock.now + .seconds(10)
    let connection = try database.opening.open(until: deadline)
    database.note(connection)
    // A pooler passes the statement to any of its connections, and no notifications back.
    if connection.keepsSession { try connection.listen(to: channel, until: deadline) }
    return connection
  }

  private func report(on connection: DatabaseConnection) throws(DatabaseFailure) {
    var parameters = StatementParameters()
    parameters.append(channel)
    _ = try connection.run(
      DatabaseStatement(name: "notify", text: "SELECT pg_catalog.pg_notify($1, '')"), parameters,
      as: .read, until: database.deadline)
  }

  private func check(
    _ progress: inout Progress, on connection: DatabaseConnection
  ) throws(DatabaseFailure) {
    let poll = try ChangePoll(
      since: progress.cursor, statement, on: connection, until: database.deadline)
    guard let poll, let keys = names(of: poll) else {
      observers.report(.resynchronize)
      progress.cursor = poll?.cursor
      progress.pause = Self.maximumPause
      return
    }
    if !keys.isEmpty { observers.report(.changed(keys)) }
    let isStanding = progress.cursor == poll.cursor && poll.isBehind
    progress.cursor = poll.cursor
    progress.pause =
      poll.isBehind ? min(progress.pause * 2, Self.maximumPause) : Self.maximumPause
    guard isStanding else {
      progress.hiddenSince = nil
      return
    }
    let since = progress.hiddenSince ?? .now
    progress.hiddenSince = since
    if since + hidingLimit < .now {
      observers.report(.resynchronize)
      database.report(.delayedChanges)
      progress.hiddenSince = .now
    }
  }

  /// Opens the names of the rows that were changed; `nil` when that is not possible.
  private func names(of poll: ChangePoll) -> Set<ItemName>? {
    guard let rows = poll.rows else { return nil }
    do throws(StoreError) {
      var reader = CanonicalNameReader()
      var names: Set<ItemName> = []
      for row in rows {
        let name = try keys.renewing(until: database.deadline) { () throws(StoreError) in
          try keys.use { keys throws(StoreError) in
            try RowOpener(keys: keys, of: database.name).name(of: row, by: &reader)
          }
        }
        names.insert(name)
      }
      return names
    } catch {
      // Locked, or damaged: reading the items shows it.
      return nil
    }
  }
}

extension SealedDatabaseStore {
  /// Returns a stream of the names that change from now on, whichever machine changes them.
  ///
  /// Returns at once. A connection is kept open for the streams. Nothing is reported while it is
  /// lost; then `resynchronize` is, if something may have been missed.
  public func changes() -> AsyncStream<StoreEvent> { poller.stream() }

  /// Returns a stream of the changes of some names from now on, whichever machine makes them.
  public func changes(of names: Set<ItemName>) -> AsyncStream<StoreEvent> {
    poller.stream(of: names)
  }
}
