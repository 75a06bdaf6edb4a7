import SessionToolsBusTestSupport
import SecretServiceStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

extension PrivateBus {
  /// Returns a store on the bus.
  func store(
    _ collection: SecretServiceStore.Collection = .default,
    _ configure: (inout SecretServiceStore.Options) -> Void = { _ in }
  ) -> SecretServiceStore {
    var options = SecretServiceStore.Options.patient
    configure(&options)
    return SecretServiceStore(
      collection: collection, options: options, bus: SessionBus(address: address))
  }
}

extension SecretServiceStore.Options {
  /// Options with a timeout that is long enough for a busy machine.
  static var patient: SecretServiceStore.Options {
    var options = SecretServiceStore.Options()
    options.timeout = patience
    return options
  }
}

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

/// Returns the code of the error that a closure throws, or `nil` if it throws none.
func failure(of body: () async throws -> some Any) async -> StoreError.Code? {
  do {
    _ = try await body()
    return nil
  } catch let error as StoreError {
    return error.code
  } catch {
    Issue.record("\(error)")
    return nil
  }
}
