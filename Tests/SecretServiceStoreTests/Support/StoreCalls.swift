import SecretServiceStore
import SessionToolsBase

/// The calls that read, each with its name.
let reads: [(name: String, run: @Sendable (SecretServiceStore, StoreKey) async throws -> Void)] = [
  ("value", { store, key in _ = try await store.value(for: key) }),
  ("contains", { store, key in _ = try await store.contains(key) }),
  ("keys", { store, _ in _ = try await store.keys(in: nil) }),
  ("items", { store, _ in _ = try await store.items(in: nil) }),
]

/// The calls that change something, each with its name.
let changes: [(name: String, run: @Sendable (SecretServiceStore, StoreKey) async throws -> Void)] =
  [
    ("put", { store, key in try await store.put(SecretBytes(utf8: "other"), for: key) }),
    ("remove", { store, key in try await store.remove(key) }),
  ]
