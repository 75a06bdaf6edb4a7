import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import Synchronization

/// Makes a store with a key file at its standard place, and says how that ended:
/// `standard-key DIRECTORY CALL`.
///
/// The given call fails, `rename` or `synchronize`, when the header gets its name.
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
