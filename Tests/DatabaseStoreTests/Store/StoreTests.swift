import DatabaseServer
import DatabaseStore
import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsTesting
import TestSupport
import Testing

/// What a user sees of a store.
@Suite struct `an item in a database` {
  private let item: StoreKey

  init() throws {
    item = try StoreKey("item", in: "svc")
  }

  @Test func `is read and replaced by another object`() async throws {
    let made = try await StoreOnServer()
    try await made.store.put("one", for: item)
    let other = try made.reopened()
    #expect(try await other.text(for: item) == "one")
    try await other.put("two", for: item)
    #expect(try await made.store.text(for: item) == "two")
    // The version that this object knows is not the newest.
    try await other.put("three", for: item)
    try await made.store.put("four", for: item)
    #expect(try await other.text(for: item) == "four")
    try await made.store.remove(item)
    #expect(try await other.text(for: item) == nil)
    #expect(try await !other.contains(item))
    try await other.put("five", for: item)
    #expect(try await made.store.keys(in: nil) == [item])
    #expect(made.store.identity() == other.identity())
  }
}
