public import SealedStore
public import SecretStores

extension SealedDatabaseStore {
  /// Makes a new, empty store with one key slot: a schema with its tables, and three roles.
  ///
  /// The roles are the schema's name with `_owner`, `_application` and `_auditor`; those that exist
  /// are used. Grant the application's role to the users that programs connect as. The user of the
  /// address needs the right to create roles, and `CREATE` on the database.
  ///
  /// Blocks as ``open(_:key:options:)`` does.
  ///
  /// - Parameters:
  ///   - address: The address of the database, as for ``open(_:key:options:)``.
  ///   - key: The maker of the slot.
  ///   - options: The options of the open store.
  /// - Returns: The open store.
  /// - Throws: `alreadyExists` when there is a schema of that name, `invalidName` when the schema's
  ///   name is empty or longer than 51 bytes, `outcomeUnknown` when the server did not confirm the
  ///   new store, or as ``open(_:key:options:)``.
  public static func create(
    at address: String, key: some SlotMaker, options: Options = Options()
  ) throws(StoreError) -> SealedDatabaseStore {
    try create(at: address, key: key, options: options, environment: DatabaseEnvironment())
  }

  package static func create(
    at address: String, key: some SlotMaker, options: Options = Options(),
    environment: DatabaseEnvironment
  ) throws(StoreError) -> SealedDatabaseStore {
    let location = try DatabaseLocation(address, options)
    try checkName(options.schema)
    // Before anything is made: the maker may ask a person, fail or take long.
    let slot = try key.makeSlot()
    let header = try DatabaseHeader.make(for: slot, random: environment.random).row
    let deadline = ContinuousClock.now + options.operationTimeout
    let connection = try location.connect(until: deadline)
    do throws(DatabaseFailure) {
      defer { connection.close() }
      try makeSchema(options.schema, header, on: connection, until: deadline)
    } catch {
      if case .server(let state) = error, [.duplicateSchema, .duplicateObject].contains(state) {
        throw StoreError(
          .alreadyExists, store: location.name, reason: "there is a schema of that name already",
          remedy: "Open the store in it, or choose another name", underlying: state)
      }
      throw error.storeError(.write, store: location.name)
    }
    return try open(
      address, key: NewSlotKey(slot: slot), options: options, environment: environment)
  }

  /// Checks the name of a schema: PostgreSQL cuts names off after 63 bytes, and those of the roles
  /// are longer than the schema's.
  ///
  /// - Throws: `invalidName`.
  package static func checkName(_ schema: String) throws(StoreError) {
    guard 1...51 ~= schema.utf8.count, !schema.utf8.contains(0) else {
      throw StoreError(
        .invalidName, store: "database",
        reason: "the name of a schema has 1 to 51 bytes and no zero among them"
      ).with(.schemaName)
    }
  }

  private static func makeSchema(
    _ schema: String, _ header: HeaderRow, on connection: DatabaseConnection,
    until deadline: ContinuousClock.Instant
  ) throws(DatabaseFailure) {
    let roles = ["owner", "application", "auditor"].map { "\(schema)_\($0)" }
    var parameters = StatementParameters()
    parameters.append(roles.map { Array($0.utf8) })
    let answer = try connection.run(
      DatabaseStatement(
        name: nil,
        text: """
          SELECT rolname::pg_catalog.text FROM pg_catalog.pg_roles
          WHERE rolname::pg_catalog.text \(SQL.equals) ANY (
            SELECT pg_catalog.convert_from(r, 'UTF8')
            FROM pg_catalog.unnest($1::pg_catalog.bytea[]) AS r
          )
          """),
      parameters, as: .read, until: deadline)
    var existing: Set<String> = []
    for number in 0..<answer.rowCount {
      if let role = answer.text(number, 0) { existing.insert(try connection.quoted(role)) }
    }
    let quotedSchema = try connection.quoted(schema)
    let names = DatabaseSchema.Names(
      schema: quotedSchema, owner: try connection.quoted(roles[0]),
      application: try connection.quoted(roles[1]), auditor: try connection.quoted(roles[2]))
    let digits = header.bytes.map { byte in
      (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }.joined()
    try connection.run(
      script: DatabaseSchema.text(
        names, existingRoles: existing,
        end: """
          INSERT INTO \(quotedSchema).header (format, number, least_epoch, bytes)
          VALUES (\(header.format), \(header.number), \(header.leastEpoch), '\\x\(digits)');

          """),
      until: deadline)
  }
}
