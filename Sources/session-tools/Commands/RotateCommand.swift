import ArgumentParser
import SealedStore
import SessionToolsBase
import ToolBase

/// `session-tools rotate`.
struct RotateCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rotate",
    abstract: "Seal everything again, under a new random key.",
    discussion: """
      All slots still open the store. With --revoke, only those whose keys are given do: the key \
      that opens the store now, unless --drop-opening-key is given, and the keys that the --keep \
      options name. The others are shut out, even with an old header. They still open every copy \
      of the store from before.

      Before a revocation, the slots to keep and to drop are written to standard error, and \
      confirmation is asked for on the terminal if any is dropped; --yes confirms without asking.

      Example:
        session-tools rotate ~/vault
        session-tools rotate ~/vault --revoke --keep-key-file bob.key
      """)

  @OptionGroup var opening: OpeningOptions<StoreArgument>

  @Flag(name: .long, help: "Shut out every key that is not given.")
  var revoke = false
  @Flag(name: .long, help: "With --revoke: shut out the key that opens the store now, too.")
  var dropOpeningKey = false
  @Flag(name: .long, help: "With --revoke: do not ask.")
  var yes = false

  @OptionGroup(title: "Keys to keep, with --revoke; each may be given several times")
  var keep: KeepOptions

  func validate() throws {
    try KeyArgument.checkDescriptors([opening.key.argument] + keep.arguments)
    guard revoke || (keep.arguments.isEmpty && !dropOpeningKey && !yes) else {
      throw ValidationError("The --keep options, --drop-opening-key and --yes are for --revoke.")
    }
    guard !dropOpeningKey || !keep.arguments.isEmpty else {
      throw ValidationError("With --drop-opening-key, name at least one key to keep.")
    }
  }

  func run() throws {
    let open: OpenStore
    if revoke {
      let key: any KeySource
      (open, key) = try opening.openKeepingKey()
      try revoke(open.store, openedWith: key)
    } else {
      open = try opening.open()
      try ProgressLine.during("sealing") { try open.store.rotate(progress: $0) }
    }
    let keyPlace = dropOpeningKey ? nil : open.keyPlace
    Protection.say(of: open.store, keyPlace: keyPlace)
  }

  private func revoke(_ store: SealedFileStore, openedWith key: any KeySource) throws {
    let kept = try keep.arguments.map { try $0.choose(opening.prompt(for: store)) }
    let sources = (dropOpeningKey ? [] : [key]) + kept.map(\.source)
    guard !yes else {
      return try revoke(store, keeping: sources) { plan in
        say(plan)
        return true
      }
    }
    // Asked between planning and revoking, because both hold the lock that others wait for.
    let plan = try store.revocationPlan(keeping: sources)
    say(plan)
    // No one loses access, so there is nothing to confirm.
    guard !plan.dropped.isEmpty else { return try revoke(store, keeping: sources) { $0 == plan } }
    guard opening.interaction.canAsk else {
      throw Failure(.usage, "give --yes to revoke without being asked; nothing was changed")
    }
    guard try Question.confirm("Continue?", about: store.path) else {
      throw Failure(.failure, "nothing was changed")
    }
    try revoke(store, keeping: sources) { $0 == plan }
  }

  private func revoke(
    _ store: SealedFileStore, keeping sources: [any KeySource],
    confirm: (SealedFileStore.RevocationPlan) -> Bool
  ) throws {
    let isDone = try ProgressLine.during("sealing") { progress in
      try store.revoke(keeping: sources, progress: progress, confirm: confirm)
    }
    guard isDone else {
      throw Failure(.failure, "the slots were changed meanwhile; nothing was revoked")
    }
  }

  private func say(_ plan: SealedFileStore.RevocationPlan) {
    for slot in plan.kept { StandardError.say("keep slot \(slot.number): \(slot.means)") }
    for slot in plan.dropped { StandardError.say("drop slot \(slot.number): \(slot.means)") }
    if plan.dropped.isEmpty { StandardError.say("drop none") }
  }
}

extension SealedFileStore {
  /// Returns what a revocation would keep and drop, without making it.
  ///
  /// - Throws: As ``revoke(keeping:progress:confirm:)``.
  func revocationPlan(keeping sources: [any KeySource]) throws(StoreError) -> RevocationPlan {
    var found: RevocationPlan?
    try revoke(keeping: sources) { plan in
      found = plan
      return false
    }
    guard let found else { preconditionFailure("a revocation reports its plan or throws") }
    return found
  }
}
