import SessionToolsBase
import Testing

@Suite struct `the items of installations` {
  let store = MemoryStore()
  let service: StoreNamespace = "mail"
  let old = InstallIdentifier(rawValue: "old")
  let new = InstallIdentifier(rawValue: "new")

  private func put(
    _ text: String, for name: String, of install: InstallIdentifier?,
    in service: StoreNamespace? = nil
  ) throws {
    let itemName = try ItemName(name, in: (service ?? self.service).with(install: install))
    try store.put(SecretBytes(utf8: text), for: itemName)
  }

  private func text(_ name: String, of install: InstallIdentifier?) throws -> String? {
    try store.value(for: ItemName(name, in: service.with(install: install))).map {
      String(decoding: $0.copyBytes(), as: UTF8.self)
    }
  }

  @Test func `they are listed with their number, for one service and group only`() async throws {
    try put("1", for: "a", of: old)
    try put("2", for: "b", of: old)
    try put("3", for: "a", of: new)
    try put("4", for: "a", of: nil)
    try put("5", for: "a", of: InstallIdentifier(rawValue: "x"), in: "news")
    try put(
      "6", for: "a", of: InstallIdentifier(rawValue: "y"),
      in: StoreNamespace(service: "mail", accessGroup: "team"))
    for itemCounts in [
      try await store.installs(of: service), try blockingInstalls(of: service.with(install: new)),
    ] {
      #expect(itemCounts == [new: 1, old: 2])
    }
    #expect(try await store.installs(of: "unused").isEmpty)
  }

  private func blockingInstalls(of service: StoreNamespace) throws -> [InstallIdentifier: Int] {
    try store.installs(of: service)
  }

  @Test func `one installation is purged, and nothing else`() async throws {
    try put("1", for: "a", of: old)
    try put("2", for: "b", of: old)
    try put("3", for: "a", of: new)
    try put("4", for: "a", of: nil)
    try put("5", for: "a", of: old, in: "news")
    #expect(try await store.purge(old, of: service) == 2)
    #expect(try await store.purge(old, of: service) == 0)
    #expect(try text("a", of: old) == nil && text("b", of: old) == nil)
    #expect(try text("a", of: new) == "3" && text("a", of: nil) == "4")
    #expect(try await store.names(in: nil).count == 3)
  }

  @Test func `all installations but those named are purged`() throws {
    let gone = InstallIdentifier(rawValue: "gone")
    for install in [old, new, gone, nil] { try put("x", for: "a", of: install) }
    #expect(try store.purgeInstalls(otherThan: [new], of: service) == 2)
    #expect(try store.installs(of: service) == [new: 1])
    #expect(try text("a", of: nil) == "x", "what belongs to no installation stays")
    #expect(try store.purgeInstalls(otherThan: [], of: service) == 1)
  }

  @Test func `all installations but those named are purged, asynchronously`() async throws {
    for install in [old, new, nil] { try put("x", for: "a", of: install) }
    #expect(try await store.purgeInstalls(otherThan: [new], of: service) == 1)
    #expect(try await store.installs(of: service) == [new: 1])
  }

  @Test func `adopting moves all items of one installation in one change`() async throws {
    try put("1", for: "a", of: old)
    try put("2", for: "b", of: old)
    try put("3", for: "c", of: new)
    var changes = store.changes().makeAsyncIterator()
    #expect(try await store.adopt(old, into: new, of: service) == 2)
    let event = try #require(await changes.next())
    guard case .changed(let names) = event else {
      Issue.record("\(event)")
      return
    }
    #expect(names.count == 4)
    #expect(try text("a", of: new) == "1" && text("b", of: new) == "2")
    #expect(try text("c", of: new) == "3" && text("a", of: old) == nil)
    #expect(try await store.installs(of: service) == [new: 3])
    #expect(try await store.adopt(old, into: new, of: service) == 0)
  }

  @Test func `items that belong to no installation are adopted, and given back`() throws {
    try put("1", for: "a", of: nil)
    #expect(try store.adopt(nil, into: new, of: service) == 1)
    #expect(try text("a", of: new) == "1" && text("a", of: nil) == nil)
    #expect(try store.adopt(new, into: nil, of: service) == 1)
    #expect(try text("a", of: nil) == "1")
  }

  @Test func `adopting into itself changes nothing`() throws {
    try put("1", for: "a", of: old)
    #expect(try store.adopt(old, into: old, of: service) == 0)
    #expect(try text("a", of: old) == "1")
  }

  @Test func `a conflict is an error before anything is changed`() async throws {
    try put("1", for: "a", of: old)
    try put("2", for: "b", of: old)
    try put("other", for: "b", of: new)
    let error = expectFailure(StoreError.alreadyExists) {
      try store.adopt(old, into: new, of: service)
    }
    #expect(error?.description.contains("b of mail") == true)
    await expectFailure(StoreError.alreadyExists) {
      try await store.adopt(old, into: new, of: service)
    }
    #expect(try text("a", of: old) == "1" && text("a", of: new) == nil)
    #expect(try text("b", of: old) == "2" && text("b", of: new) == "other")
  }

  @Test(arguments: [(InstallIdentifier.AdoptionConflict.keepNew, "other"), (.keepOld, "2")])
  func `the side chosen for a conflict is kept`(
    conflict: InstallIdentifier.AdoptionConflict, kept: String
  ) throws {
    try put("1", for: "a", of: old)
    try put("2", for: "b", of: old)
    try put("other", for: "b", of: new)
    #expect(try store.adopt(old, into: new, of: service, onConflict: conflict) == 2)
    #expect(try text("a", of: new) == "1" && text("b", of: new) == kept)
    #expect(try text("b", of: old) == nil)
  }

  @Test func `an interrupted adoption is finished by adopting again`() throws {
    try put("1", for: "a", of: old)
    try put("1", for: "a", of: new)
    try put("2", for: "b", of: old)
    #expect(try store.adopt(old, into: new, of: service) == 2)
    #expect(try text("a", of: new) == "1" && text("b", of: new) == "2")
    #expect(try store.installs(of: service) == [new: 2])
  }

  @Test func `a store that cannot answer is an error`() async {
    let locked = RefusingStore(StoreError.locked)
    expectFailure(StoreError.locked) { try locked.installs(of: service) }
    expectFailure(StoreError.locked) { try locked.purge(old, of: service) }
    expectFailure(StoreError.locked) { try locked.adopt(old, into: new, of: service) }
    await expectFailure(StoreError.locked) {
      try await locked.purgeInstalls(otherThan: [], of: service)
    }
  }
}
