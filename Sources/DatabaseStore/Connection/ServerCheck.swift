extension DatabaseConnection {
  /// Checks that the server is a PostgreSQL that can hold a store, and notes its settings.
  ///
  /// - Throws: `notSent`, or `timedOut`.
  func checkServer(until deadline: ContinuousClock.Instant) throws(DatabaseFailure) {
    // Alone, because other databases do not know the settings.
    let version = try ask("SELECT pg_catalog.version()", until: deadline)
    let text = version.text(0, 0) ?? ""
    if let objection = ServerVersion.objection(to: text) {
      close()
      throw .notSent(.otherServer(objection))
    }
    let start = ContinuousClock.now
    let answer = try ask(
      """
      SELECT pg_catalog.clock_timestamp(), pg_catalog.current_setting('fsync'),
        pg_catalog.current_setting('full_page_writes'),
        pg_catalog.current_setting('synchronous_commit'),
        pg_catalog.current_setting('synchronous_standby_names')\(keepsSession ? Self.planning : "")
      """, until: deadline)
    guard let clock = answer.integer(Int64.self, 0, 0), let fsync = answer.text(0, 1),
      let pages = answer.text(0, 2), let commit = answer.text(0, 3), let names = answer.text(0, 4)
    else {
      close()
      throw .notSent(.otherServer("the server does not report its settings as PostgreSQL does"))
    }
    var settings = ServerState.Settings()
    settings.fsync = fsync
    settings.fullPageWrites = pages
    settings.synchronousCommit = commit
    settings.synchronousStandbyNames = names
    server = ServerState(
      version: text,
      settings: settings,
      clock: ServerClock(reading: clock, at: start + (ContinuousClock.now - start) / 2))
  }

  /// Looks up nothing outside of PostgreSQL's own schema, which statements name besides, and keeps
  /// one plan of each prepared statement, which finds all rows by an index.
  ///
  /// Otherwise a change of two or three rows is planned each time, which takes longer than making
  /// it: PostgreSQL assumes arrays of ten elements, and prefers a new plan for fewer. And it would
  /// keep plans that read a whole table, made while that was small or not analyzed yet.
  private static let planning = """
    ,
      pg_catalog.set_config('search_path', 'pg_catalog', false),
      pg_catalog.set_config('plan_cache_mode', 'force_generic_plan', false),
      pg_catalog.set_config('enable_seqscan', 'off', false),
      pg_catalog.set_config('jit', 'off', false)
    """

  /// Runs a statement that is sent once for each connection.
  private func ask(
    _ text: String, until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) -> DatabaseAnswer {
    do throws(DatabaseFailure) {
      return try run(
        DatabaseStatement(name: nil, text: text), as: .read, until: deadline)
    } catch .noAnswer(.deadline) {
      throw .timedOut
    } catch .noAnswer(.excess) {
      throw .notSent(.otherServer(DatabaseConnection.excessive))
    } catch .noAnswer(.ended(let state)) {
      throw .notSent(.refused(state))
    } catch .noAnswer {
      throw .notSent(.noConnection("it was lost while the server was checked"))
    } catch .server(let state) {
      close()
      throw .notSent(.refused(state))
    }
  }
}

/// The text of a server's `version()`, which says whether it is the database that it seems to be.
package enum ServerVersion {
  /// The first release with `xid8` and `pg_current_snapshot`.
  private static let oldest = 13
  /// Databases that speak PostgreSQL's protocol and have other locks or other transaction numbers.
  private static let others = [
    "CockroachDB", "Yugabyte", "Redshift", "Greenplum", "Cloudberry", "Materialize", "RisingWave",
    "openGauss", "GaussDB", "CrateDB", "QuestDB", "CedarDB", "Vertica", "Spanner",
  ]

  /// Returns why a server cannot hold a store; `nil` when it can.
  package static func objection(to text: String) -> String? {
    let words = text.split(separator: " ")
    let said = "the server is not PostgreSQL, but '\(text.prefix(60))'"
    guard words.count > 2, words[0] == "PostgreSQL",
      // As PostgreSQL itself writes it: others put their names behind the number.
      let major = major(of: words[1]), text.contains("compiled by"),
      !others.contains(where: { text.lowercased().contains($0.lowercased()) })
    else { return said }
    return major < oldest ? "the server is PostgreSQL \(words[1]), which is too old" : nil
  }

  /// Returns the first number of "15.20", "18beta1", "18rc1", "19devel" or "15.20,".
  private static func major(of word: Substring) -> Int? {
    let isNumber = word.wholeMatch(of: /([0-9]+)(\.[0-9]+)*(beta[0-9]+|rc[0-9]+|devel)?,?/)
    return isNumber.flatMap { Int($0.1) }
  }
}
