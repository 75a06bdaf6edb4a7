import Foundation
import SealedStore
import SessionToolsBase

// One process among several in the tests of the sealed store. It reports what it did on its
// standard output, a line at a time, and takes its orders from its arguments and from lines on
// its standard input.

let arguments = Array(CommandLine.arguments.dropFirst())

func argument(_ position: Int) -> String {
  guard position < arguments.count else { fail("argument \(position) is missing") }
  return arguments[position]
}

func number(_ position: Int) -> Int {
  guard let number = Int(argument(position)) else { fail("\(argument(position)) is not a number") }
  return number
}

/// Prints a line at once, with one call, so that a test that reads it knows that it happened.
func say(_ line: String) {
  FileHandle.standardOutput.write(Data("\(line)\n".utf8))
}

/// Ends with a complaint, also on the standard output, so that the test that reads it can show it.
func fail(_ reason: String) -> Never {
  say("failed: \(reason)")
  FileHandle.standardError.write(Data("StoreWorker: \(reason)\n".utf8))
  exit(2)
}

/// Returns `ok` or the error's code.
func storeOutcome(_ body: () throws -> Void) -> String {
  do {
    try body()
    return "ok"
  } catch let error as StoreError {
    return error.code.description
  } catch {
    return "\(error)"
  }
}

/// Opens the store of the first two arguments: its directory and its key file.
func openStore(lockTimeout: Duration = .seconds(60)) throws -> SealedFileStore {
  try SealedFileStore.open(
    at: argument(1), key: KeyFile(argument(2)),
    options: SealedFileStore.Options(lockTimeout: lockTimeout))
}

do {
  switch argument(0) {
  case "put": try putOne()
  case "write": try writeWithoutEnd()
  case "read": try readUntilInputEnds()
  case "history": try recordHistory()
  case "rewrite": try rewriteUntilInputEnds()
  case "churn": try churn()
  case "watch": try watchUntilInputEnds()
  case "watch-changes": try watchChanges()
  case "listen-alone": try listenAlone()
  case "listen-to-older": try listenToOlder()
  case "standard-key": try makeStandardKey()
  case "old-stores": try makeOldStores()
  case "count": try countExclusively()
  case "hold": try holdName()
  case "gate": try await useGate()
  case "keys": try showKeys()
  case "passphrase": try showPassphrase()
  case "recipient": try showRecipientKey()
  case "items": try showItems()
  case "dump": try dumpCore()
  case "memory-limit": try useUnlockableMemory()
  case "fork": try useAfterFork()
  case "open-in-fork": try openInFork()
  case "probe": try probe()
  case "fill": try fillFileSystem()
  case "live": try live()
  case "show": try showUntilInputEnds()
  case "exposed": showExposedParent()
  case "masked": try makeWithMask()
  case "masked-directories": try makeDirectoriesWithMask()
  default: fail("there is no command \(argument(0))")
  }
} catch {
  fail("\(error)")
}
