import Foundation
import SealedStore
import SessionToolsBase

/// Stores an item, and prints the event that follows when the system gives no notifications:
/// `listen-alone DIRECTORY KEYFILE NAME`.
func listenAlone() throws -> Never {
  let store = try openStore()
  let name = try ItemName(argument(3), in: "worker")
  let changes = try changesWithoutNotifications(of: store)
  try store.put(SecretBytes(utf8: "value"), for: name)
  report(changes, count: 1)
}

/// Prints the changes of a store and its notices until the input ends:
/// `watch-changes DIRECTORY KEYFILE`.
func watchChanges() throws -> Never {
  let store = try SealedFileStore.open(
    at: argument(1), key: KeyFile(argument(2)),
    options: SealedFileStore.Options(onNotice: { say("\($0)") }))
  let changes = store.changes()
  report(changes, count: .max, afterwards: "ready")
}

/// Locks a store, restores the files from before its last change, unlocks it, stores an item, and
/// prints the events that follow when the system gives no notifications:
/// `listen-to-older DIRECTORY KEYFILE NAME`.
func listenToOlder() throws -> Never {
  let store = try openStore()
  let itemName = try ItemName(argument(3), in: "worker")
  let files = try ["journal", "mark"].map { name in
    let file = URL(filePath: "\(argument(1))/\(name)")
    return (file, try Data(contentsOf: file))
  }
  // This change ends at the same offset as the change that will be appended to the older files.
  try store.put(SecretBytes(utf8: "value"), for: ItemName("old", in: "worker"))
  let changes = try changesWithoutNotifications(of: store)
  store.lock()
  for (file, content) in files {
    let handle = try FileHandle(forWritingTo: file)
    try handle.write(contentsOf: content)
    try handle.close()
  }
  try store.unlock(with: KeyFile(argument(2)))
  try store.put(SecretBytes(utf8: "value"), for: itemName)
  report(changes, count: 2)
}

/// Returns the changes of a store that gets no notifications from the system.
private func changesWithoutNotifications(
  of store: SealedFileStore
) throws -> AsyncStream<StoreEvent> {
  let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  var usual = rlimit()
  guard unsafe getrlimit(resource, &usual) == 0 else { fail("no limit") }
  // Open descriptors stay open, and no new ones are available.
  var none = rlimit(rlim_cur: 0, rlim_max: usual.rlim_max)
  guard unsafe setrlimit(resource, &none) == 0 else { fail("no limit") }
  let changes = store.changes()
  guard unsafe setrlimit(resource, &usual) == 0 else { fail("no limit") }
  return changes
}

/// Prints the given number of events, and exits.
private func report(
  _ changes: AsyncStream<StoreEvent>, count: Int, afterwards beginning: String? = nil
) -> Never {
  if let beginning { say(beginning) }
  Task {
    for await event in changes.prefix(count) {
      if case .changed(let names) = event { say("changed \(names.map(\.identifier))") }
      if case .resynchronize = event { say("resynchronize") }
    }
    exit(0)
  }
  // When the input ends, the process that started this one is gone.
  while readLine() != nil {}
  exit(0)
}
