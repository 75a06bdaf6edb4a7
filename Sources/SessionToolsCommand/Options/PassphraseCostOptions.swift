import ArgumentParser
import SealedStore

/// The cost of guessing the passphrase of a new slot.
struct PassphraseCostOptions: ParsableArguments {
  @Option(
    name: .long,
    help: ArgumentHelp(
      "Memory to derive the key with, 8 to 1024 MiB; measured by default, 64 with "
        + "--passphrase-passes.", valueName: "mib"))
  var passphraseMemory: Int?

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Passes over that memory, 1 to 10; measured by default, 3 with --passphrase-memory.",
      valueName: "number"))
  var passphrasePasses: Int?

  var isGiven: Bool { passphraseMemory != nil || passphrasePasses != nil }

  var cost: Passphrase.Cost {
    guard isGiven else { return .measured }
    return .fixed(passes: passphrasePasses ?? 3, memoryByteCount: (passphraseMemory ?? 64) << 20)
  }

  func validate() throws {
    let limits = Passphrase.Limits()
    guard limits.passes.contains(passphrasePasses ?? limits.passes.lowerBound) else {
      throw ValidationError("--passphrase-passes takes a number from 1 to 10.")
    }
    let memory = limits.memoryByteCount
    let mebibytes = memory.lowerBound >> 20...memory.upperBound >> 20
    guard mebibytes.contains(passphraseMemory ?? mebibytes.lowerBound) else {
      throw ValidationError("--passphrase-memory takes a number of MiB from 8 to 1024.")
    }
  }

  /// Refuses a cost for a key that is not a passphrase, or without a key.
  func check(_ argument: KeyArgument?) throws {
    if isGiven, argument?.isPassphrase != true {
      throw ValidationError("--passphrase-memory and --passphrase-passes are for passphrases.")
    }
  }
}
