import Foundation
import SealedStore
import SessionToolsBase

/// Stores an item, and says what it is told of that when the system gives no notifications:
/// `listen-alone DIRECTORY KEYFILE NAME`.
func listenAlone() throws -> Never {
  let store = try openStore()
  let key = try StoreKey(argument(3), in: "worker")
  let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  var usual = rlimit()
  guard unsafe getrlimit(resource, &usual) == 0 else { fail("no limit") }
  // What is open stays open, and nothing else gets a descriptor.
  var none = rlimit(rlim_cur: 0, rlim_max: usual.rlim_max)
  guard unsafe setrlimit(resource, &none) == 0 else { fail("no limit") }
  let changes = store.changes()
  guard unsafe setrlimit(resource, &usual) == 0 else { fail("no limit") }
  try store.put(SecretBytes(utf8: "value"), for: key)
  Task {
    for await event in changes {
      if case .changed(let keys) = event { say("changed \(keys.map(\.identifier))") }
      if case .resynchronize = event { say("resynchronize") }
      exit(0)
    }
  }
  // Whoever waits for it has gone when there is no more input.
  while readLine() != nil {}
  exit(0)
}
