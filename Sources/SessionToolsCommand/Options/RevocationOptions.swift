import ArgumentParser
import SealedStore
import SessionToolsBase

/// Whom a rotation shuts out.
struct RevocationOptions: ParsableArguments {
  @Flag(name: .long, help: "Shut out every key that is not given.")
  var revoke = false
  @Flag(name: .long, help: "With --revoke: shut out the key that opens the store now, too.")
  var dropOpeningKey = false
  @Flag(name: .long, help: "With --revoke: do not ask.")
  var yes = false

  @OptionGroup(title: "Keys to keep, with --revoke; each may be given several times")
  var keep: KeepOptions

  func validate() throws {
    guard revoke || (keep.isEmpty && !dropOpeningKey && !yes) else {
      throw ValidationError("The --keep options, --drop-opening-key and --yes are for --revoke.")
    }
    guard !dropOpeningKey || !keep.isEmpty else {
      throw ValidationError("With --drop-opening-key, name at least one key to keep.")
    }
  }

  /// Shuts out the keys, once a person has agreed to the plan.
  ///
  /// - Parameters:
  ///   - store: The store, open.
  ///   - key: The key that opened it.
  ///   - interaction: Whether a person may be asked.
  /// - Throws: As revoking, and a usage failure if a person would have to be asked and cannot be.
  func run(
    on store: some SlotChanging, openedWith key: any KeySource, _ interaction: InteractionOptions
  ) throws {
    let prompt = PassphrasePrompt(path: store.name, interaction: interaction)
    let kept = try keep.arguments.map { try $0.choose(prompt) }
    let sources = (dropOpeningKey ? [] : [key]) + kept.map(\.source)
    guard !yes else {
      return try revoke(store, keeping: sources) { plan in
        say(plan)
        return true
      }
    }
    // Asked between planning and revoking, because both hold the lock that others wait for.
    let plan = try store.revocationPlan(keeping: sources, recipients: keep.keepRecipient)
    say(plan)
    // No one loses access, so there is nothing to confirm.
    guard !plan.dropped.isEmpty else { return try revoke(store, keeping: sources) { $0 == plan } }
    guard interaction.canAsk else {
      throw Failure(.usage, "give --yes to revoke without being asked; nothing was changed")
    }
    guard try Question.confirm("Continue?", about: store.name) else {
      throw Failure(.failure, "nothing was changed")
    }
    try revoke(store, keeping: sources) { $0 == plan }
  }

  private func revoke(
    _ store: some SlotChanging, keeping sources: [any KeySource],
    confirm: (RevocationPlan) -> Bool
  ) throws {
    let old = try store.fingerprint()
    let isDone: Bool
    do {
      isDone = try ProgressLine.during("sealing") { progress in
        try store.revoke(
          keeping: sources, recipients: keep.keepRecipient, progress: progress, confirm: confirm)
      }
    } catch {
      // It may have been interrupted after the keys were revoked.
      if try store.fingerprint() != old { try KnownStores.announce(store, insteadOf: old) }
      throw error
    }
    guard isDone else {
      throw Failure(.failure, "the slots were changed meanwhile; nothing was revoked")
    }
    try KnownStores.announce(store, insteadOf: old)
  }

  private func say(_ plan: RevocationPlan) {
    for slot in plan.kept { StandardError.say("keep slot \(slot.number): \(slot.means)") }
    for slot in plan.dropped { StandardError.say("drop slot \(slot.number): \(slot.means)") }
    if plan.dropped.isEmpty { StandardError.say("drop none") }
  }
}
