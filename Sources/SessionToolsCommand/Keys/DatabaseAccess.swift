import DatabaseStore
import SealedStore
import SessionToolsBase

/// A database that could be connected to.
struct DatabaseAccess {
  let address: String
  /// How a command line names the store.
  let words: [String]
  let options: SealedDatabaseStore.Options
  let inspector: DatabaseInspector

  /// The store, as messages name it.
  var name: String { inspector.location.name }

  /// Opens the store with the key that the options or the environment name, with a security key
  /// that is plugged in, or with a passphrase that is asked for; also returns the key.
  ///
  /// - Parameters:
  ///   - argument: The key that the options name.
  ///   - interaction: Whether a person may be asked.
  ///   - start: What the names of the options begin with.
  /// - Returns: The open store, and its key.
  /// - Throws: As `SealedDatabaseStore.open`, and `keyMissing` if there is no key.
  func open(
    _ argument: KeyArgument?, _ interaction: InteractionOptions, optionStart start: String
  ) throws -> (open: OpenStore<SealedDatabaseStore>, key: any KeySource) {
    let search = KeySearch(
      store: name, argument: argument, interaction: interaction, optionStart: start
    ) { () throws(StoreError) in
      try inspector.header().keySlots
    }
    func open(
      with key: ChosenKey
    ) throws(StoreError) -> (open: OpenStore<SealedDatabaseStore>, key: any KeySource) {
      let source = try key.source(waitingAtMost: options.operationTimeout)
      let store = try SealedDatabaseStore.open(address, key: source, options: options)
      return (OpenStore(store: store, keyName: key.name, keyPlace: key.place), source)
    }
    // Nothing is asked for a store that is not there.
    if case .passphrasePrompt? = argument { _ = try inspector.header() }
    if let found = try search.openNamed(open) { return found }
    let slots = try inspector.header().keySlots
    return try search.openAtTerminal(slots, open) {
      StoreError(
        .keyMissing, store: name, reason: "no key was given",
        remedy: "Give "
          + KeySearch.remedies(for: slots, start: start).joined(separator: ", or ")
          + (slots.contains(where: \.isRawKey)
            ? ", or name the key file in \(KeySearch.environmentVariable)" : ""))
    }
  }

  /// Returns whether the store may open with a key after a change that failed.
  func mayOpen(with key: KeyFile) -> Bool {
    do throws(StoreError) {
      _ = try SealedDatabaseStore.open(address, key: key, options: options)
      return true
    } catch {
      return !(error.code == .wrongKey || error.isWithoutStore)
    }
  }
}

extension StoreError {
  /// Whether a database has certainly no store in a schema.
  var isWithoutStore: Bool {
    ["3F000", "42P01"].contains((underlying as? SQLState)?.code)
  }
}
