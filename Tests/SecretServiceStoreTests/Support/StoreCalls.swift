import SecretServiceStore
import SessionToolsBase

/// The calls that read, each with its name.
let reads: [(name: String, run: @Sendable (SecretServiceStore, ItemName) async throws -> Void)] = [
  ("value", { store, name in _ = try await store.value(for: name) }),
  ("contains", { store, name in _ = try await store.contains(name) }),
  ("keys", { store, _ in _ = try await store.names(in: nil) }),
  ("items", { store, _ in _ = try await store.items(in: nil) }),
]

/// The calls that change something, each with its name.
let changes: [(name: String, run: @Sendable (SecretServiceStore, ItemName) async throws -> Void)] =
  [
    ("put", { store, name in try await store.put(SecretBytes(utf8: "other"), for: name) }),
    ("remove", { store, name in try await store.remove(name) }),
  ]
