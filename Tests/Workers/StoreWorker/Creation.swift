import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Synchronization

/// Makes a store with a key file at its standard place, and prints the outcome:
/// `standard-key DIRECTORY CALL`.
///
/// The given call, `rename` or `synchronize`, fails when the header gets its name.
func makeStandardKey() throws {
  let failing = argument(2)
  let isNamed = Mutex(false)
  let disk = FaultyFileSystem { call in
    if call.kind == .rename, call.name == "header" { isNamed.withLock { $0 = true } }
    return call.kind.rawValue == failing && isNamed.withLock(\.self) ? .fail(EIO) : nil
  }
  say(
    storeOutcome {
      _ = try SealedFileStore.createWithStandardKeyFile(
        at: argument(1), environment: StoreEnvironment(fileSystem: disk))
    })
}

/// Makes directories, one inside the other, with a umask that takes permissions from the user too:
/// `masked-directories DIRECTORY MASK`.
func makeDirectoriesWithMask() throws {
  // Root may go through directories whatever their mode.
  if geteuid() == 0, setgid(65534) != 0 || setuid(65534) != 0 { fail("still root") }
  umask(mode_t(argument(2), radix: 8) ?? 0)
  try LinuxFileSystem().makeDirectories(argument(1))
  say("done")
}

/// Prints which directory above a store is exposed, and why: `exposed DIRECTORY`.
func showExposedParent() {
  say(ExposedParent(above: argument(1), fileSystem: LinuxFileSystem())?.reason ?? "none")
}

/// Makes a store with a umask that takes permissions from the user too: `masked DIRECTORY KEYFILE`.
func makeWithMask() throws {
  umask(0o477)
  let store = try SealedFileStore.create(at: argument(1), key: KeyFile(argument(2)))
  try store.put(SecretBytes(utf8: "value"), for: ItemName("item", in: "worker"))
  say("done")
}
