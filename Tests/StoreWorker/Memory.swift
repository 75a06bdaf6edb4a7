import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport

/// Shows its memory: `keys DIRECTORY KEYFILE SEED`.
///
/// Makes a store whose keys come from a seed, locks, unlocks and locks it, and waits for a line
/// after each, while somebody looks at its memory.
func showKeys() throws {
  guard let seed = UInt64(argument(3)) else { fail("no seed") }
  let environment = StoreEnvironment(random: SeededRandom(seed: seed))
  let store = try SealedFileStore.create(
    at: argument(1), key: KeyFile(argument(2)), environment: environment)
  let name = try StoreKey("item", in: "worker")
  try store.put(SecretBytes(utf8: "value"), for: name)
  _ = try store.value(for: name)
  _ = try store.keys(in: nil)
  wait("open")
  store.lock()
  wait("locked")
  try store.unlock(with: KeyFile(argument(2)))
  try store.put(SecretBytes(utf8: "another value"), for: name)
  _ = try store.verify()
  wait("unlocked")
  store.lock()
  wait("locked again")
}

private func wait(_ state: String) {
  say(state)
  _ = readLine()
}

/// `memory-limit DIRECTORY KEYFILE`: makes a store where the system locks no memory at all, and
/// says what the store makes of it.
///
/// Root may lock memory whatever the limit, so it stops being root first; both paths lie in a
/// directory that belongs to user 65534.
func useUnlockableMemory() throws {
  var limit = rlimit(rlim_cur: 0, rlim_max: 0)
  guard unsafe setrlimit(__rlimit_resource_t(__RLIMIT_MEMLOCK.rawValue), &limit) == 0 else {
    fail("no limit")
  }
  if geteuid() == 0, setgid(65534) != 0 || setuid(65534) != 0 { fail("still root") }
  let store = try SealedFileStore.create(
    at: argument(1), key: KeyFile.create(at: argument(2)),
    options: SealedFileStore.Options(onNotice: { say("notice \($0)") }))
  say("locked: \(store.isKeyMemoryLocked)")
  try store.put(SecretBytes(utf8: "value"), for: StoreKey("item", in: "worker"))
  say("works")
}

/// Forks with the store open: `fork DIRECTORY KEYFILE`.
///
/// Says what the child may do with it, and then what the parent may.
func useAfterFork() throws {
  let store = try openStore()
  let name = try StoreKey("item", in: "worker")
  try store.put(SecretBytes(utf8: "value"), for: name)
  let child = fork()
  if child == 0 {
    say("value " + storeOutcome { _ = try store.value(for: name) })
    say("contains " + storeOutcome { _ = try store.contains(name) })
    say("keys " + storeOutcome { _ = try store.keys(in: nil) })
    say("put " + storeOutcome { try store.put(SecretBytes(utf8: "child"), for: name) })
    say("remove " + storeOutcome { try store.remove(name) })
    say(
      "exclusive "
        + storeOutcome {
          try store.withExclusiveAccess(to: name, timeout: .seconds(1)) {}
        })
    say("compact " + storeOutcome { try store.compact() })
    say("rotate " + storeOutcome { try store.rotate() })
    say("verify " + storeOutcome { _ = try store.verify() })
    say("addSlot " + storeOutcome { try store.addSlot(KeyFile(argument(2))) })
    _exit(0)
  }
  var status: Int32 = 0
  unsafe waitpid(child, &status, 0)
  say("child ended with \(status)")
  say("parent " + storeOutcome { try store.put(SecretBytes(utf8: "parent"), for: name) })
}

/// Uses a store that may be hostile: `probe DIRECTORY KEYFILE IDENTIFIER`.
///
/// Opens, reads, lists, verifies and changes it, and says what came of it and the most memory
/// that took, in KiB.
func probe() throws {
  let name = try StoreKey(argument(3), in: "worker")
  var store: SealedFileStore?
  say("open " + storeOutcome { store = try openStore() })
  if let store {
    say("value " + storeOutcome { _ = try store.value(for: name) })
    say("keys " + storeOutcome { _ = try store.keys(in: nil) })
    say("verify " + storeOutcome { _ = try store.verify() })
    say("put " + storeOutcome { try store.put(SecretBytes(utf8: "new"), for: name) })
  }
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  say("peak \(peak?.split(separator: " ")[1] ?? "unknown")")
}
