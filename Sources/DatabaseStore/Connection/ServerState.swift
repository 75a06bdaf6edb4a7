/// What a server said about itself when a connection was opened.
package struct ServerState: Sendable {
  /// The settings that decide whether a change survives a crash, or the loss of the server.
  package struct Settings: Hashable, Sendable {
    package var fsync = ""
    package var fullPageWrites = ""
    package var synchronousCommit = ""
    package var synchronousStandbyNames = ""

    package init() {}
  }

  package var version = ""
  package var settings = Settings()
  package var clock = ServerClock()
}

extension ServerState.Settings {
  /// Whether a change that was confirmed survives a crash of the server.
  package var isDurable: Bool {
    fsync == "on" && fullPageWrites == "on" && !["off", "remote_write"].contains(synchronousCommit)
  }

  /// Whether a change that was confirmed is on another server, too.
  package var isReplicated: Bool {
    !synchronousStandbyNames.isEmpty && ["on", "remote_apply"].contains(synchronousCommit)
  }

  /// What the owner of the store should know about the settings, in sentences.
  package var notices: [DatabaseNotice] {
    isDurable
      ? isReplicated ? [] : [.notReplicated]
      : [.notDurable(settings: description)]
  }

  /// The settings that decide whether a change survives a crash, with their values.
  package var description: String {
    "fsync is \(fsync), full_page_writes is \(fullPageWrites), "
      + "synchronous_commit is \(synchronousCommit)"
  }
}

/// The server's clock, as it was when a connection was opened.
package struct ServerClock: Sendable {
  /// Microseconds since 2000, PostgreSQL's epoch.
  private let reading: Int64
  private let instant: ContinuousClock.Instant

  /// Notes a reading of the server's clock.
  ///
  /// - Parameters:
  ///   - reading: Microseconds since 2000.
  ///   - instant: When it was read, by this machine's clock that never jumps.
  init(reading: Int64 = 0, at instant: ContinuousClock.Instant = .now) {
    self.reading = reading
    self.instant = instant
  }

  /// The microseconds since 1970 that the server's clock shows now, if it goes as ours does.
  package var now: Int64 {
    let year2000: Int64 = 946_684_800_000_000
    let passed = (ContinuousClock.now - instant) / .microseconds(1)
    return reading &+ year2000 &+ Int64(passed)
  }
}
