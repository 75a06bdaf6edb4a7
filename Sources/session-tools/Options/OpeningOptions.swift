import ArgumentParser
import SealedStore
import SessionToolsBase

/// An existing store and what opens it.
struct OpeningOptions: ParsableArguments {
  @OptionGroup var store: StoreArgument
  @OptionGroup(title: "Key") var key: KeyOptions
  @OptionGroup var interaction: InteractionOptions

  @Option(
    name: .long,
    help: ArgumentHelp("How long to wait for another process that writes.", valueName: "seconds"))
  var timeout = 10.0

  var path: String { store.location.path }
  var prompt: PassphrasePrompt { PassphrasePrompt(path: path, interaction: interaction) }

  func validate() throws {
    guard timeout >= 0, timeout <= 1e9 else {
      throw ValidationError("--timeout takes a number of seconds from 0.")
    }
  }

  /// Opens the store.
  ///
  /// - Throws: As `SealedFileStore.open`, and `keyMissing` when nothing is found to open it.
  func open() throws -> OpenStore {
    try KeyFinder(path: path, options: key, interaction: interaction).open(
      SealedFileStore.Options(lockTimeout: .seconds(timeout), onNotice: Notices.tell))
  }
}

/// A store and the key that opened it.
struct OpenStore {
  let store: SealedFileStore
  let key: ChosenKey
}
