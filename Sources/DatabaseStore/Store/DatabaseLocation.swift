import SecretStores

/// Where a store is: its address, and how connections to it are opened.
package struct DatabaseLocation {
  let address: DatabaseAddress
  let opening: ConnectionOpening
  /// The store as a person would name it.
  package let name: String
  /// Whether something is sent to another machine without TLS, or to a server that is not checked.
  package var isExposed: Bool { address.isExposed }

  init(_ text: String, _ options: SealedDatabaseStore.Options) throws(StoreError) {
    address = try DatabaseAddress(text, allowsPlaintext: options.allowsPlaintext)
    let mode = options.preparesStatements ? DatabaseStatement.Mode.named : .unnamed
    if let password = options.password {
      opening = ConnectionOpening(address, statements: mode, password: password)
    } else {
      opening = ConnectionOpening(address, statements: mode)
    }
    let database = address.databaseName.map { " of database \($0)" } ?? ""
    name = "schema \(options.schema)\(database) at \(address.endpoints[0])"
  }

  /// Opens a connection, and tries again until the deadline: the server may be about to come back.
  ///
  /// - Throws: As opening a store.
  func connect(until deadline: ContinuousClock.Instant) throws(StoreError) -> DatabaseConnection {
    var pause = RetryPause()
    var earlier: DatabaseFailure?
    while true {
      do throws(DatabaseFailure) {
        return try opening.open(until: deadline)
      } catch {
        guard error.isRepeatable, pause.wait(until: deadline) else {
          // The last attempt may have had no time to learn what the ones before it did.
          guard case .timedOut = error, let earlier else {
            throw error.storeError(.read, store: name)
          }
          throw earlier.storeError(.read, store: name)
        }
        earlier = error
      }
    }
  }

  /// Connects once, for the name of the schema in quotes and for what the server says about itself.
  ///
  /// - Throws: As opening a store.
  func database(
    _ options: SealedDatabaseStore.Options, until deadline: ContinuousClock.Instant
  ) throws(StoreError) -> (Database, ServerState.Settings) {
    let connection = try connect(until: deadline)
    defer { connection.close() }
    do throws(DatabaseFailure) {
      let statements = StoreStatements(schema: try connection.quoted(options.schema))
      return (Database(named: name, statements, opening, options), connection.server.settings)
    } catch {
      throw error.storeError(.read, store: name)
    }
  }
}
