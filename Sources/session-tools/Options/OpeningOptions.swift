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

  /// Opens the store, and lets go of what opened it.
  ///
  /// - Throws: As `SealedFileStore.open`, and `keyMissing` when nothing is found to open it.
  func open() throws -> OpenStore {
    try openKeepingKey().open
  }

  /// Opens the store, and keeps the key that opened it for a use to come.
  ///
  /// - Throws: As ``open()``.
  func openKeepingKey() throws -> (open: OpenStore, key: any KeySource) {
    try KeyFinder(path: path, options: key, interaction: interaction).open(
      SealedFileStore.Options(lockTimeout: .seconds(timeout), onNotice: Notices.tell))
  }
}

/// A store, and how to speak of the key that opened it.
///
/// Not the key itself: a passphrase is not in memory for as long as a person takes to answer the
/// next question.
struct OpenStore {
  let store: SealedFileStore
  /// What the key is: "the key file /x".
  let keyName: String
  /// The file the key is in, if it is in one.
  let keyPlace: String?
}
