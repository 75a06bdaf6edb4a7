import Foundation
import SessionTools
import SessionToolsTestSupport
import Testing

/// Changes that depend on what is stored, in each store that compares for itself.
///
/// In processes of their own, because the environment determines the keychain.
@Suite(.timeLimit(.minutes(10))) struct `a change under a condition` {
  @Test(arguments: StoreKind.allCases)
  func `is made for the versions given, and for no others`(_ kind: StoreKind) async {
    await #expect(processExitsWith: .success) { [kind = kind as StoreKind] in
      await withStore(kind) { store in
        let new = [StoreChange.put(SecretBytes(utf8: "new"), for: item)]
        #expect(try await store.asyncApply(new, if: stored("old")) == .noItem)
        try await store.put(SecretBytes(utf8: "old"), for: item)
        #expect(try await store.asyncApply(new, if: stored("x")) == .otherItem)
        #expect(try await store.asyncApply(new, if: .stored(item, isOneOf: [])) == .otherItem)
        #expect(try await store.value(for: item) == SecretBytes(utf8: "old"))
        #expect(try await store.asyncApply(new, if: stored("x", "old")) == .made)
        #expect(try await store.value(for: item) == SecretBytes(utf8: "new"))
        #expect(try await store.asyncApply([.remove(item)], if: stored("new")) == .made)
        #expect(try await store.asyncApply([.remove(item)], if: stored("new")) == .noItem)
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `is made once if nothing must be stored`(_ kind: StoreKind) async {
    await #expect(processExitsWith: .success) { [kind = kind as StoreKind] in
      await withStore(kind) { store in
        let one = [StoreChange.put(SecretBytes(utf8: "one"), for: item)]
        let two = [StoreChange.put(SecretBytes(utf8: "two"), for: item)]
        #expect(try await store.asyncApply(one, if: .isAbsent(item)) == .made)
        #expect(try await store.asyncApply(two, if: .isAbsent(item)) == .otherItem)
        #expect(try await store.value(for: item) == SecretBytes(utf8: "one"))
        try await store.remove(item)
        #expect(try await store.asyncApply(two, if: .isAbsent(item)) == .made)
        #expect(try await store.value(for: item) == SecretBytes(utf8: "two"))
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `makes all of several changes or none`(_ kind: StoreKind) async {
    await #expect(processExitsWith: .success) { [kind = kind as StoreKind] in
      await withStore(kind) { store in
        try await store.apply([
          .put(SecretBytes(utf8: "old"), for: item), .put(SecretBytes(utf8: "1"), for: second),
        ])
        let changes: [StoreChange] = [
          .remove(second), .put(SecretBytes(utf8: "3"), for: third), .remove(item),
        ]
        #expect(try await store.asyncApply(changes, if: stored("new")) == .otherItem)
        #expect(try await store.asyncApply(changes, if: .isAbsent(third)) == .made)
        #expect(try await store.names(in: nil) == [third])
        #expect(try await store.asyncApply(changes, if: stored("old")) == .noItem)
        #expect(try await store.asyncApply([], if: .isAbsent(item)) == .made)
        #expect(try await store.asyncApply([], if: .isAbsent(third)) == .otherItem)
        #expect(try await store.names(in: nil) == [third])
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `waits for no one's exclusive access`(_ kind: StoreKind) async {
    await #expect(processExitsWith: .success) { [kind = kind as StoreKind] in
      await withStore(kind) { store in
        try await store.withExclusiveAccess(to: item, timeout: .zero) { () async throws in
          let changes = [StoreChange.put(SecretBytes(utf8: "1"), for: item)]
          #expect(try await store.asyncApply(changes, if: .isAbsent(item)) == .made)
        }
      }
    }
  }

  @Test(arguments: StoreKind.allCases)
  func `lets eight tasks count up an item without losing a step`(_ kind: StoreKind) async {
    await #expect(processExitsWith: .success) { [kind = kind as StoreKind] in
      await withStore(kind) { store in
        try await store.put(SecretBytes(utf8: "0"), for: item)
        try await withThrowingTaskGroup(of: Void.self) { group in
          for _ in 0..<8 {
            group.addTask {
              for _ in 0..<25 { try await countUp(in: store) }
            }
          }
          try await group.waitForAll()
        }
        #expect(try await store.value(for: item) == SecretBytes(utf8: "200"))
      }
    }
  }

  @Test func `makes a keychain only to store an item in it`() async {
    await #expect(processExitsWith: .success) {
      await withStore(.keychain) { store async throws in
        func isMade() throws -> Bool { try store.identity() != nil }
        let put = [StoreChange.put(SecretBytes(utf8: "1"), for: item)]
        #expect(try await store.asyncApply(put, if: stored("old")) == .noItem)
        #expect(try await store.asyncApply([.remove(item)], if: .isAbsent(item)) == .made)
        #expect(try !isMade())
        #expect(try await store.asyncApply(put, if: .isAbsent(item)) == .made)
        #expect(try isMade())
      }
    }
  }

  @Test func `is made by one of several that make the keychain at the same time`() async {
    await #expect(processExitsWith: .success) {
      await withStore(.keychain) { _ in
        let outcomes = try await withThrowingTaskGroup(of: ChangeOutcome.self) { group in
          for number in 0..<8 {
            group.addTask {
              let changes = [StoreChange.put(SecretBytes(utf8: "\(number)"), for: item)]
              return try await keychain().asyncApply(changes, if: .isAbsent(item))
            }
          }
          return try await group.reduce(into: [ChangeOutcome]()) { $0.append($1) }
        }
        #expect(outcomes.count { $0 == .made } == 1)
        #expect(outcomes.count { $0 == .otherItem } == 7)
      }
    }
  }
}

/// A store that compares for itself.
enum StoreKind: String, CaseIterable, Codable {
  case memory, sealedFile, keychain
}

private let (item, second, third) = (name("item"), name("second"), name("third"))

private func name(_ identifier: String) -> ItemName {
  do { return try ItemName(identifier, in: "service") } catch { fatalError("\(error)") }
}

private func stored(_ texts: String...) -> ItemCondition {
  .stored(item, isOneOf: Set(texts.map { ItemVersion(SecretBytes(utf8: $0)) }))
}

/// Runs a closure with an empty store.
private func withStore(
  _ kind: StoreKind, _ body: (any ConditionalStore) async throws -> Void
) async {
  do {
    try await inTemporaryHome { home in
      let store: any ConditionalStore =
        switch kind {
        case .memory: MemoryStore()
        case .sealedFile:
          try SealedFileStore.create(at: "\(home)/store", key: RawKey(RawKey.random()))
        case .keychain: try keychain()
        }
      try await body(store)
    }
  } catch {
    // An error thrown in an exit test would not be shown.
    Issue.record("\(error)")
  }
}

/// Returns an object of its own of one keychain, which it neither opens nor makes.
private func keychain() throws -> any ConditionalStore {
  let container = KeychainStorageContainer<String>(
    config: KeychainContainerConfig(keychainName: "com.example.mail"))
  return try #require(container.store as? any ConditionalStore)
}

private func countUp(in store: any ConditionalStore) async throws {
  while true {
    let value = try #require(try await store.value(for: item))
    let count = try #require(Int(String(decoding: value.copyBytes(), as: UTF8.self)))
    let next = [StoreChange.put(SecretBytes(utf8: "\(count + 1)"), for: item)]
    let outcome = try await store.asyncApply(
      next, if: .stored(item, isOneOf: [ItemVersion(value)]))
    if outcome == .made { return }
  }
}
