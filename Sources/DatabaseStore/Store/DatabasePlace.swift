import SessionToolsBase

/// Where a store is: its address, and how connections to it are opened.
struct DatabasePlace {
  let address: DatabaseAddress
  let opening: ConnectionOpening
  /// The store as a person would name it.
  let name: String

  init(_ text: String, _ options: SealedDatabaseStore.Options) throws(StoreError) {
    address = try DatabaseAddress(text, allowsPlaintext: options.allowsPlaintext)
    let mode = options.preparesStatements ? DatabaseStatement.Mode.named : .unnamed
    if let password = options.password {
      opening = ConnectionOpening(address, statements: mode, password: password)
    } else {
      opening = ConnectionOpening(address, statements: mode)
    }
    name = "schema \(options.schema) at \(address.endpoints[0])"
  }

  /// Runs a closure with a connection of its own, which is closed afterwards.
  ///
  /// - Throws: As opening a store.
  func withConnection<Result>(
    until deadline: ContinuousClock.Instant,
    _ body: (DatabaseConnection) throws(DatabaseFailure) -> Result
  ) throws(StoreError) -> Result {
    do throws(DatabaseFailure) {
      let connection = try opening.open(until: deadline)
      return try body(connection)
    } catch {
      throw error.storeError(.read, store: name)
    }
  }
}
