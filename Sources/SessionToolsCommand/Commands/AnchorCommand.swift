import ArgumentParser
import Foundation
import SealedStore
import SessionToolsBase

/// `session-tools anchor`.
struct AnchorCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "anchor",
    abstract: "Detect that a store was put back to an older state.",
    discussion: """
      A person who can write a store's files can replace all of them by an old copy, and nothing \
      in them shows that. An anchor is one line that says how far the store had been written. Keep \
      it where the store's files cannot be changed from: on another machine, or on paper. It is \
      not secret.

      Example:
        session-tools anchor write ~/vault | ssh backup 'cat > vault.anchor'
        session-tools anchor check ~/vault "$(ssh backup cat vault.anchor)"
      """,
    subcommands: [Write.self, Check.self], defaultSubcommand: Write.self)

  /// What there is for a store in a database.
  static let advice = "verify --keeper finds what is older there than it was"

  /// `session-tools anchor write`.
  struct Write: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "write", abstract: "Print an anchor of a store as it is now.",
      discussion: """
        Example:
          session-tools anchor write ~/vault > vault.anchor
        """)

    @OptionGroup var opening: OpeningOptions<OptionalStoreArgument>

    func run() throws {
      let anchor = try opening.openDirectory(forDatabase: AnchorCommand.advice).anchor()
      try StandardOutput.write(Data(anchor.bytes).base64EncodedString() + "\n")
    }
  }

  /// `session-tools anchor check`.
  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check",
      abstract: "Check that a store is not older than an anchor.",
      discussion: """
        Exit status 6 when it is older, or when changes that the anchor has are missing. A store \
        that passed may still lack changes made after the anchor was written. If it was \
        compacted, rotated or repaired since, only the numbers of changes are compared: write an \
        anchor after that.

        Example:
          session-tools anchor check ~/vault "$(cat vault.anchor)"
        """)

    @OptionGroup var opening: OpeningOptions<StoreArgument>
    @Argument(help: "The line that anchor write printed.", transform: Self.anchor)
    var anchor: StoreAnchor

    func run() throws {
      let store = try opening.openDirectory(forDatabase: AnchorCommand.advice)
      try store.check(anchor)
      let count = Size.count(Int(try store.anchor().version &- anchor.version), "change")
      StandardError.say("\(store.path): not older than the anchor, \(count) later")
    }

    private static func anchor(_ text: String) throws -> StoreAnchor {
      guard let bytes = Data(base64Encoded: text),
        let anchor = try? StoreAnchor(bytes: Array(bytes))
      else {
        throw ValidationError("an anchor is the line that session-tools anchor write printed")
      }
      return anchor
    }
  }
}
