import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase

/// The checks of a database and of the store in it.
struct DatabaseChecks {
  let access: DatabaseAccess
  let key: KeyArgument?
  /// The options that name the key, as they are typed.
  let keyWords: [String]
  let interaction: InteractionOptions
  /// The number of processes that will use the store; `nil` if it is not known.
  let instanceCount: Int?

  private var inspector: DatabaseInspector { access.inspector }
  /// How a command line names the store, and its key.
  private var words: String { (access.words + keyWords).asTyped }

  func all() -> [Check] {
    [server, connection] + durability + [clock] + pooler + connectionCount + rights + transactions
      + contents
  }

  // MARK: - The server

  private var server: Check {
    let version = inspector.server.version.split(separator: " ").prefix(2).joined(separator: " ")
    return .ok("server", "\(version) at \(inspector.endpoint)")
  }

  private var connection: Check {
    if inspector.location.isExposed {
      return .problem(
        "connection",
        "others on the way to the server may read it, or take the server's place",
        remedy: "Remove sslmode from the address, and give the server a certificate; name its "
          + "authority with sslrootcert=FILE in the address")
    }
    return inspector.usesTLS && !inspector.endpoint.isOnThisMachine
      ? .ok("connection", "TLS, with a checked certificate")
      : .ok("connection", "does not leave this machine")
  }

  private var durability: [Check] {
    let settings = inspector.server.settings
    guard settings.isDurable else {
      return [
        .problem(
          "durability", "confirmed changes may be lost in a crash: \(settings.description)",
          remedy: "Set fsync, full_page_writes and synchronous_commit to on")
      ]
    }
    let durable = Check.ok("durability", "confirmed changes survive a crash of the server")
    guard settings.isReplicated else {
      return [
        durable,
        .note(
          "standby", "confirmed changes may be lost in a failover: no standby confirms them",
          remedy: "Set synchronous_standby_names, and leave synchronous_commit on"),
      ]
    }
    return [
      durable,
      .ok("standby", "changes are confirmed by \(settings.synchronousStandbyNames)"),
    ]
  }

  private var clock: Check {
    let here = Date.now.timeIntervalSince1970
    let offset = Double(inspector.server.clock.now) / 1e6 - here
    let text =
      abs(offset) < 1
      ? "within a second of this machine's"
      : "\(Int(abs(offset).rounded())) s \(offset > 0 ? "ahead of" : "behind") this machine's"
    // Tokens end by the clocks of those who use them; what the server's clock decides, it decides
    // alone.
    return abs(offset) < 60
      ? .ok("clock", text)
      : .note("clock", text, remedy: "timedatectl set-ntp true, on the one that is wrong")
  }

  private var pooler: [Check] {
    answer("pooler") { () throws(StoreError) in
      try inspector.isBehindPooler()
        ? .note(
          "pooler", "one is in between: programs must not prepare statements",
          remedy: "Open the store with the option preparesStatements = false")
        : .ok("pooler", "none")
    }
  }

  /// What an instance uses by default at most: 4, one for changes and one for renewals.
  private static let connectionsOfInstance = 6

  private var connectionCount: [Check] {
    answer("connections") { () throws(StoreError) in
      let counts = try inspector.connections()
      let each = Self.connectionsOfInstance
      let finding = "\(counts.allowed) allowed, \(counts.used) open now"
      guard let instanceCount else {
        let count = Size.count(counts.allowed / each, "program")
        return .ok("connections", "\(finding); \(count) may have up to \(each) each")
      }
      let needed = instanceCount * each
      let need = "\(Size.count(instanceCount, "program")) may need \(needed)"
      return needed <= counts.allowed
        ? .ok("connections", "\(finding); \(need)")
        : .problem(
          "connections", "\(finding), and \(need)",
          remedy: "Put a pooler in front, lower maximumConnectionCount in the programs, or raise "
            + "max_connections and the limits of the user and the database")
    }
  }

  // MARK: - Rights

  private var rights: [Check] {
    answer("rights") { () throws(StoreError) in
      let rights = try inspector.rights()
      guard rights.mayUseSchema != nil else { return [] }
      return [own(rights)] + others(rights)
    }
  }

  private func own(_ rights: DatabaseRights) -> Check {
    let schema = access.options.schema
    let application = "\(schema)_application".asIdentifier
    let grant = "GRANT \(application) TO \(rights.user.asIdentifier)"
    if rights.isSuperuser {
      return .note(
        "rights", "\(rights.user) may do anything, which programs should not",
        remedy: "Let them connect as a user with this role alone: GRANT \(application) TO USER")
    }
    guard rights.mayUseSchema == true else {
      return .problem("rights", "\(rights.user) may not use the schema", remedy: grant)
    }
    let missing = rights.tables.filter { $0.isGranted != true }
    guard !missing.isEmpty else {
      let others = rights.members.filter { $0 != rights.user }
      return .ok(
        "rights",
        "\(rights.user) may do what programs do"
          + (others.isEmpty ? "" : ", and so may \(list(others))"))
    }
    if missing.count == rights.tables.count(where: { $0.privilege != "SELECT" }),
      missing.allSatisfy({ $0.privilege != "SELECT" })
    {
      return .note(
        "rights", "\(rights.user) may only read, as an auditor; programs need more", remedy: grant)
    }
    let lacking = Dictionary(grouping: missing, by: \.name).sorted { $0.key < $1.key }
      .map { table, missing in
        (table: table, privileges: missing.map(\.privilege).joined(separator: ", "))
      }
    let text = lacking.map { "\($0.privileges) on \($0.table)" }.joined(separator: ", ")
    return .problem(
      "rights", "\(rights.user) lacks \(text)",
      remedy: rights.members.contains(rights.user)
        ? lacking.map {
          "GRANT \($0.privileges) ON \(schema.asIdentifier).\($0.table) TO \(application)"
        }
        .joined(separator: "; ") : grant)
  }

  private func list(_ users: [String]) -> String {
    let named = users.prefix(5).joined(separator: ", ")
    return users.count > 5 ? "\(named) and \(users.count - 5) more" : named
  }

  private func others(_ rights: DatabaseRights) -> [Check] {
    guard !rights.others.isEmpty else { return [] }
    let schema = access.options.schema.asIdentifier
    let names = rights.others.map { $0 == "PUBLIC" ? $0 : $0.asIdentifier }
    return [
      .problem(
        "other rights", "also granted to \(list(rights.others)), besides the store's roles",
        remedy: "REVOKE ALL ON ALL TABLES IN SCHEMA \(schema) FROM "
          + names.joined(separator: ", "))
    ]
  }

  // MARK: - The store

  private static let maximumTransaction = Duration.seconds(10)

  private var transactions: [Check] {
    answer("transactions") { () throws(StoreError) in
      guard let oldest = try inspector.oldestTransaction() else {
        return .ok("transactions", "none is open that has written")
      }
      guard let age = oldest.age else {
        return .ok("transactions", "\(oldest.user) has one open; since when is not shown")
      }
      let seconds = Int(age / .seconds(1))
      guard age > Self.maximumTransaction else {
        return .ok("transactions", "the oldest that has written is open for \(seconds) s")
      }
      let finding =
        "one of \(oldest.user) has been open for \(seconds) s: until it ends, no one is told of "
        + "changes one by one"
      return .note(
        "transactions", finding,
        remedy: oldest.process.map { "End it: SELECT pg_terminate_backend(\($0))" }
          ?? "End it: COMMIT PREPARED or ROLLBACK PREPARED, of those in pg_prepared_xacts")
    }
  }

  private var contents: [Check] {
    let header: DatabaseHeader
    do throws(StoreError) {
      header = try inspector.header()
    } catch {
      return [.problem("store", error)]
    }
    let opensWith = SlotChecks.check(
      header.keySlots,
      adding: "session-tools slots add \(words)")
    return [
      .ok("store", "\(access.options.schema), identifier \(header.store.bytes.hexadecimal)"),
      opensWith, epochs(header),
    ] + keys(header) + rows
  }

  private func epochs(_ header: DatabaseHeader) -> Check {
    header.epochs.count == 1
      ? .ok("data key", "one")
      : .note(
        "data key", "\(header.epochs.count): a rotation is under way, or was interrupted",
        remedy: "If none is under way: session-tools rotate \(words)")
  }

  private func keys(_ header: DatabaseHeader) -> [Check] {
    guard let key else { return [] }
    do {
      let (open, source) = try access.open(key, interaction, optionStart: "--")
      let migration = open.store.identity().flatMap {
        MigrationCheck.check(ofDatabase: $0, access.address, source)
      }
      return [
        .ok("key", "\(open.keyName) opens it"),
        .ok("fingerprint", try open.store.fingerprint().text),
      ] + [migration].compactMap(\.self)
    } catch {
      return [.problem("key", error)]
    }
  }

  private var rows: [Check] {
    answer("contents") { () throws(StoreError) in
      let contents = try inspector.contents()
      let count = contents.isEstimate ? rounded(contents.itemCount) : contents.itemCount
      let items = Size.count(count, "item")
      return [
        .ok(
          "contents",
          "\(contents.isEstimate ? "about " : "")\(items), \(Size.text(contents.byteCount))"),
        .ok("removals", removals(contents)),
      ]
    }
  }

  /// Returns a number with two digits that are not zero at most.
  private func rounded(_ count: Int) -> Int {
    var unit = 1
    while count / unit >= 100 { unit *= 10 }
    return (count + unit / 2) / unit * unit
  }

  private func removals(_ contents: TableContents) -> String {
    guard contents.removalCount > 0 else { return "none waits to be deleted" }
    let isMore = contents.removalCount == TableContents.maximumRemovalCount
    let removed = Size.count(contents.removalCount, "removed item")
    let sweep = contents.sweepAge.map { "the last sweep was \(Int($0 / .seconds(60))) min ago" }
    return "\(isMore ? "at least " : "")\(removed), kept for an hour; "
      + (sweep ?? "no program has swept yet")
  }

  // MARK: - Answers

  /// Returns the check of a question; the error as a problem.
  private func answer(
    _ name: String, _ ask: () throws(StoreError) -> [Check]
  ) -> [Check] {
    do throws(StoreError) {
      return try ask()
    } catch {
      return [.problem(name, error)]
    }
  }

  private func answer(_ name: String, _ ask: () throws(StoreError) -> Check) -> [Check] {
    answer(name) { () throws(StoreError) in [try ask()] }
  }
}

extension StoreError {
  /// Whether a right of the database is missing, which the check of the rights names.
  var isForLackOfRights: Bool { (underlying as? SQLState)?.code == "42501" }
}
