import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import Synchronization

/// `keys DIRECTORY KEYFILE SEED`: uses a store while a test inspects the memory of this process.
///
/// Makes a store whose keys come from a seed, locks it, unlocks it, gives it other keys and
/// releases it, and waits for a line after each step.
func showKeys() throws {
  var store: SealedFileStore? = try makeSeededStore()
  let name = try ItemName("item", in: "worker")
  try store?.put(SecretBytes(utf8: "value"), for: name)
  _ = try store?.value(for: name)
  _ = try store?.names(in: nil)
  wait("open")
  store?.lock()
  wait("locked")
  try store?.unlock(with: KeyFile(argument(2)))
  try store?.put(SecretBytes(utf8: "another value"), for: name)
  _ = try store?.verify()
  wait("unlocked")
  store?.lock()
  wait("locked again")
  try store?.unlock(with: KeyFile(argument(2)))
  wait("open again")
  try store?.rotate()
  wait("rotated")
  try store?.revoke(keeping: [KeyFile(argument(2))]) { _ in true }
  wait("revoked")
  store = nil
  wait("released")
}

/// Makes a store from the first three arguments: its directory, its key file, and a seed.
func makeSeededStore() throws -> SealedFileStore {
  guard let seed = UInt64(argument(3)) else { fail("no seed") }
  return try SealedFileStore.create(
    at: argument(1), key: KeyFile(argument(2)),
    environment: StoreEnvironment(random: SeededRandom(seed: seed)))
}

/// `passphrase DIRECTORY FILE`: makes and opens a store with a passphrase, and waits for a line
/// after each step, while a test inspects its memory.
func showPassphrase() throws {
  var store: SealedFileStore? = try SealedFileStore.create(at: argument(1), key: passphrase())
  wait("made")
  store = nil
  try holdPassphrase()
  store = try SealedFileStore.open(at: argument(1), key: passphrase())
  let name = try ItemName("item", in: "worker")
  try store?.put(SecretBytes(utf8: "value"), for: name)
  wait("open")
  store?.lock()
  wait("locked")
  try store?.unlock(with: passphrase())
  wait("unlocked")
  store = nil
  wait("released")
}

private func holdPassphrase() throws {
  let passphrase = try passphrase()
  guard let slot = try SealedFileStore.keySlots(at: argument(1)).first?.parameters else {
    fail("no slot")
  }
  let key = try passphrase.wrappingKey(for: slot)
  wait("in hand")
  withExtendedLifetime((passphrase, key)) {}
}

private func passphrase() throws -> Passphrase {
  try Passphrase(
    utf8: SecretFile.read(argument(2), maximumByteCount: 100, rule: .privateFile),
    cost: .fixed(passes: 1, memoryByteCount: 8 << 20))
}

/// `recipient DIRECTORY FILE`: makes and opens a store that is sealed to a recipient, and waits for
/// a line after each step, while a test inspects its memory.
func showRecipientKey() throws {
  let key = RecipientKey(argument(2))
  var store: SealedFileStore? = try SealedFileStore.create(
    at: argument(1), key: key.recipient())
  let fingerprint = try store?.fingerprint()
  wait("made")
  store = nil
  try holdRecipientKey(key)
  store = try SealedFileStore.open(
    at: argument(1), key: RecipientKey(key.path, expecting: fingerprint))
  wait("open")
  try store?.revoke(keeping: [], recipients: [key.recipient()]) { _ in true }
  store?.lock()
  wait("revoked and locked")
  store = nil
  wait("released")
}

private func holdRecipientKey(_ key: RecipientKey) throws {
  guard let slot = try SealedFileStore.keySlots(at: argument(1)).first?.parameters else {
    fail("no slot")
  }
  let secretKey = try SecretFile.read(key.path, maximumByteCount: 32, rule: .privateFile)
  let slotKey = try key.wrappingKey(for: slot)
  wait("in hand")
  withExtendedLifetime((secretKey, slotKey)) {}
}

/// `dump DIRECTORY KEYFILE SEED PLACE`: aborts with an open store, leaving a core dump in the
/// directory PLACE.
func dumpCore() throws {
  guard let seed = UInt64(argument(3)) else { fail("no seed") }
  var limit = rlimit(rlim_cur: .max, rlim_max: .max)
  guard unsafe setrlimit(__rlimit_resource_t(RLIMIT_CORE.rawValue), &limit) == 0 else {
    fail("no limit")
  }
  let store = try makeSeededStore()
  try store.put(SecretBytes(utf8: "value"), for: ItemName("item", in: "worker"))
  let ordinary = SeededRandom.bytes(32, seed: seed, number: 1000)
  guard FileManager.default.changeCurrentDirectoryPath(argument(4)) else {
    fail("cannot change to \(argument(4))")
  }
  say("open")
  // Swift's runtime would take a long time to examine the crash.
  signal(SIGABRT, SIG_DFL)
  withExtendedLifetime((store, ordinary)) { abort() }
}

/// Prints a state and waits for a line.
func wait(_ state: String) {
  say(state)
  _ = readLine()
}

/// `memory-limit DIRECTORY KEYFILE`: makes a store where the system locks no memory at all, and
/// prints what the store reports.
///
/// Root may lock memory whatever the limit, so the process stops being root first; both paths lie
/// in a directory that belongs to user 65534.
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
  store.lock()
  try store.unlock(with: KeyFile(argument(2)))
  try store.put(SecretBytes(utf8: "value"), for: ItemName("item", in: "worker"))
  say("works")
}

/// Forks with the store open: `fork DIRECTORY KEYFILE`.
///
/// Prints what the child may do with it, and then what the parent may do.
func useAfterFork() throws {
  let disk = FaultyFileSystem()
  let store = try SealedFileStore.open(
    at: argument(1), key: KeyFile(argument(2)), environment: StoreEnvironment(fileSystem: disk))
  let name = try ItemName("item", in: "worker")
  try store.put(SecretBytes(utf8: "value"), for: name)
  // One thread is in the middle of a read throughout; in the child, that read never ends.
  let (isReading, goesOn) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
  let isFirst = Mutex(true)
  disk.setRule { call in
    guard call.kind == .read, call.name == "journal" else { return nil }
    let holds = isFirst.withLock { isFirst in
      defer { isFirst = false }
      return isFirst
    }
    if holds {
      isReading.signal()
      goesOn.wait()
    }
    return nil
  }
  let reader = Thread { _ = try? store.value(for: name) }
  reader.start()
  isReading.wait()
  // Locks that other threads hold during the fork stay held in the child.
  let isOver = Mutex(false)
  let threads = (0..<4).map { number in
    Thread {
      while !isOver.withLock({ $0 }) {
        if number < 2 {
          try? store.put(SecretBytes(utf8: "value"), for: name)
        } else {
          _ = try? store.value(for: name)
        }
      }
    }
  }
  for thread in threads { thread.start() }
  usleep(50_000)
  inChild {
    say("value " + storeOutcome { _ = try store.value(for: name) })
    say("contains " + storeOutcome { _ = try store.contains(name) })
    say("keys " + storeOutcome { _ = try store.names(in: nil) })
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
    say("unlock " + storeOutcome { try store.unlock(with: KeyFile(argument(2))) })
    say("memory locked \(store.isKeyMemoryLocked)")
    store.lock()
    say("locked \(store.isLocked)")
  }
  goesOn.signal()
  isOver.withLock { $0 = true }
  while (threads + [reader]).contains(where: { !$0.isFinished }) { usleep(1000) }
  say("parent " + storeOutcome { try store.put(SecretBytes(utf8: "parent"), for: name) })
}

/// Opens a store, forks, and opens it in the child: `open-in-fork DIRECTORY KEYFILE IDENTIFIER`.
///
/// Prints the outcome of reading an item in both, and how many items the child lists and how many
/// threads it starts meanwhile.
func openInFork() throws {
  let name = try ItemName(argument(3), in: "worker")
  say("parent " + storeOutcome { _ = try openStore().value(for: name) })
  inChild {
    let before = threadCount()
    let most = Mutex(before)
    let disk = FaultyFileSystem { _ in
      most.withLock { $0 = max($0, threadCount()) }
      return nil
    }
    say(
      "child "
        + storeOutcome {
          let store = try SealedFileStore.open(
            at: argument(1), key: KeyFile(argument(2)),
            environment: StoreEnvironment(fileSystem: disk))
          _ = try store.value(for: name)
          let count = try store.names(in: nil).count
          say("child lists \(count)")
        })
    say("child starts \(most.withLock { $0 } - before)")
  }
}

private func threadCount() -> Int {
  (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
}

/// Runs a closure in a forked child, and prints how the child ended.
private func inChild(_ body: () -> Void) {
  let child = fork()
  if child == 0 {
    // Ends the child if it waits for something that never happens.
    alarm(60)
    body()
    _exit(0)
  }
  var status: Int32 = 0
  unsafe waitpid(child, &status, 0)
  say("child ended with \(status)")
}

/// Uses a store that may be hostile: `probe DIRECTORY KEYFILE IDENTIFIER`.
///
/// Opens, reads, lists, verifies, changes and repairs it, and prints the outcomes and the peak of
/// its memory use in KiB.
func probe() throws {
  let name = try ItemName(argument(3), in: "worker")
  var store: SealedFileStore?
  say("open " + storeOutcome { store = try openStore() })
  if let store {
    say("value " + storeOutcome { _ = try store.value(for: name) })
    say("keys " + storeOutcome { _ = try store.names(in: nil) })
    say("verify " + storeOutcome { _ = try store.verify() })
    say("put " + storeOutcome { try store.put(SecretBytes(utf8: "new"), for: name) })
    say("repair " + storeOutcome { _ = try store.repair() })
  }
  let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
  let peak = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
  say("peak \(peak?.split(separator: " ")[1] ?? "unknown")")
}
