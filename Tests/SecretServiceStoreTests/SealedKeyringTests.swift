import Foundation
import SessionToolsBusTestSupport
import SessionToolsDBus
import SessionToolsTestSupport
import Testing

/// A sealed store as the keyring, with clients that do what those of this package never do.
///
/// What every provider must do is tested where all of them are.
@Suite(.fewAtATime) struct SealedKeyringTests {
  private static let root = OtherClient.root
  private static let login = "\(root)/collection/login"

  /// Returns the name of the error with which a call is refused; `nil` if it is not.
  private func refusal(_ body: () async throws -> Void) async throws -> String? {
    do {
      try await body()
      return nil
    } catch let error as DBusError {
      return error.name.map { String($0.split(separator: ".").last ?? "") }
    }
  }

  private func session(of client: OtherClient) async throws -> String {
    try await client.call(
      Self.root, "Service", "OpenSession", [.string("plain"), .variant(.string(""))]
    ).last?.objectPath ?? ""
  }

  private func secret(_ text: String, in session: String) -> Variant {
    .tuple([.objectPath(session), .bytes([]), .bytes(Array(text.utf8)), .string("text/plain")])
  }

  /// Stores an item, and returns its path.
  @discardableResult
  private func create(
    _ text: String, _ attributes: [String: String], by client: OtherClient,
    in collection: String = login, replaces: Bool = true
  ) async throws -> String {
    let properties: [String: Variant] = [
      "org.freedesktop.Secret.Item.Label": .string("item"),
      "org.freedesktop.Secret.Item.Attributes": .strings(attributes),
    ]
    return try await client.call(
      collection, "Collection", "CreateItem",
      [
        .properties(properties), secret(text, in: session(of: client)), .boolean(replaces),
      ]
    ).first?.objectPath ?? ""
  }

  private func search(
    _ attributes: [String: String], by client: OtherClient
  ) async throws -> [String] {
    try await client.call(Self.root, "Service", "SearchItems", [.strings(attributes)])
      .first?.objectPaths ?? []
  }

  private func read(_ item: String, by client: OtherClient) async throws -> String {
    let secret = try await client.call(
      item, "Item", "GetSecret", [.objectPath(session(of: client))])
    return String(decoding: secret[0].children[2].bytes ?? [], as: UTF8.self)
  }

  @Test func `refuses keys, sessions and secrets that are not in order`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await SealedKeyring(on: bus)
    defer { withExtendedLifetime(keyring) {} }
    let (client, other) = (try await OtherClient(on: bus), try await OtherClient(on: bus))
    let zeros = [UInt8](repeating: 0, count: 127)
    for key in [[], zeros + [0], zeros + [1], [UInt8](repeating: 0xff, count: 129)] {
      let refused = try await refusal {
        try await client.call(
          Self.root, "Service", "OpenSession",
          [.string("dh-ietf1024-sha256-aes128-cbc-pkcs7"), .variant(.bytes(key))])
      }
      #expect(refused == "InvalidArgs", "\(key.count) bytes")
    }
    let algorithm = try await refusal {
      try await client.call(
        Self.root, "Service", "OpenSession", [.string("none"), .variant(.string(""))])
    }
    #expect(algorithm == "NotSupported")
    let item = try await create("secret", ["a": "1"], by: client)
    let session = try await session(of: client)
    // Of another client, and of no one.
    for path in [session, "\(Self.root)/session/s999", Self.login] {
      let refused = try await refusal {
        try await other.call(item, "Item", "GetSecret", [.objectPath(path)])
      }
      #expect(refused == "NoSession", "\(path)")
    }
    // Sealed for the bus with another key than the session's.
    let sealed = try await client.call(
      Self.root, "Service", "OpenSession",
      [
        .string("dh-ietf1024-sha256-aes128-cbc-pkcs7"),
        .variant(.bytes([UInt8](repeating: 7, count: 128))),
      ])
    for (vector, bytes) in [(16, 16), (16, 15), (0, 16), (16, 0), (17, 32)] {
      let refused = try await refusal {
        try await client.call(
          item, "Item", "SetSecret",
          [
            .tuple([
              sealed[1], .bytes([UInt8](repeating: 1, count: vector)),
              .bytes([UInt8](repeating: 2, count: bytes)), .string("text/plain"),
            ])
          ])
      }
      #expect(refused == "InvalidArgs", "\(vector), \(bytes)")
    }
    #expect(try await read(item, by: client) == "secret")
  }

  @Test func `refuses arguments of other types, and objects that there are not`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await SealedKeyring(on: bus)
    defer { withExtendedLifetime(keyring) {} }
    let client = try await OtherClient(on: bus)
    let session = try await session(of: client)
    let attributes = "org.freedesktop.Secret.Item.Attributes"
    let label = "org.freedesktop.Secret.Item.Label"
    let wrong: [[String: Variant]] = [
      [attributes: .properties([:])], [label: .unsigned32(1)], [attributes: .string("a")],
    ]
    for properties in wrong {
      let refused = try await refusal {
        try await client.call(
          Self.login, "Collection", "CreateItem",
          [.properties(properties), secret("x", in: session), .boolean(true)])
      }
      #expect(refused == "InvalidArgs")
    }
    #expect(
      try await refusal { try await client.call(Self.root, "Service", "Lock", [.string("a")]) }
        == "InvalidArgs")
    for path in ["\(Self.login)/0", "\(Self.root)X", "/org/freedesktop/other"] {
      let refused = try await refusal { try await client.call(path, "Item", "Delete") }
      #expect(["NoSuchObject", "UnknownMethod"].contains(refused), "\(path)")
    }
    // A session of another client, and one that is closed, do not serve, whatever is asked.
    let foreign = try await self.session(of: OtherClient(on: bus))
    try await client.call(session, "Session", "Close")
    for path in [session, foreign, "\(Self.root)/session/s0"] {
      let refused = try await refusal {
        try await client.call(
          Self.root, "Service", "GetSecrets",
          [.objectPaths(["\(Self.login)/0"]), .objectPath(path)])
      }
      #expect(refused == "NoSession", "\(path)")
    }
    // What is not there is not locked, and locks nothing.
    let locked = try await client.call(
      Self.root, "Service", "Lock", [.objectPaths(["/foo", "\(Self.login)/0"])])
    #expect(locked.first?.objectPaths == [])
    #expect(try await client.isLocked() == false)
  }

  @Test func `keeps collections and aliases of any name`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await SealedKeyring(on: bus)
    let client = try await OtherClient(on: bus)
    func make(_ label: String, _ alias: String) async throws -> String {
      try await client.call(
        Self.root, "Service", "CreateCollection",
        [
          .properties(["org.freedesktop.Secret.Collection.Label": .string(label)]),
          .string(alias),
        ]
      ).first?.objectPath ?? ""
    }
    let paths = [try await make("session", ""), try await make("my-app", "work")]
    #expect(paths[1] == "\(Self.root)/collection/my_2dapp")
    #expect(try await make("another label", "work") == paths[1])
    try await client.setDefault(paths[1])
    for path in paths { try await create(path, ["in": path], by: client, in: path) }
    keyring.kill()
    let next = try await SealedKeyring(on: bus)
    defer { withExtendedLifetime(next) {} }
    let later = try await OtherClient(on: bus)
    // The first question that it gets.
    #expect(try await later.collection() == paths[1])
    for path in paths {
      let found = try await search(["in": path], by: later)
      #expect(found.count == 1 && found[0].hasPrefix(path), "\(path)")
    }
    #expect(Set(try await later.collections()).isSuperset(of: paths))
  }

  @Test func `two services of one store see each other's changes at once`() async throws {
    let (bus, otherBus) = (try await PrivateBus(), try await PrivateBus())
    let keyring = try await SealedKeyring(on: bus)
    let other = try await SealedKeyring(on: otherBus, servingThatOf: bus)
    defer { withExtendedLifetime((keyring, other)) {} }
    let clients = [try await OtherClient(on: bus), try await OtherClient(on: otherBus)]
    for number in 0..<20 {
      let item = try await create("\(number)", ["of": "both"], by: clients[number % 2])
      let found = try await search(["of": "both"], by: clients[(number + 1) % 2])
      #expect(found == [item])
      #expect(try await read(item, by: clients[(number + 1) % 2]) == "\(number)")
    }
  }

  @Test func `what was answered is there after a crash`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await SealedKeyring(on: bus)
    let client = try await OtherClient(on: bus)
    var answered = 0
    let killing = Task {
      try await Task.sleep(for: .milliseconds(200))
      keyring.kill()
    }
    while answered < 10_000,
      (try? await create("secret", ["number": "\(answered)"], by: client)) != nil
    {
      answered += 1
    }
    try await killing.value
    let next = try await SealedKeyring(on: bus)
    defer { withExtendedLifetime(next) {} }
    let later = try await OtherClient(on: bus)
    for number in 0..<answered {
      #expect(try await search(["number": "\(number)"], by: later).count == 1)
    }
  }

  @Test func `a store that was moved away is not used any more`() async throws {
    let bus = try await PrivateBus()
    let keyring = try await SealedKeyring(on: bus)
    defer { withExtendedLifetime(keyring) {} }
    let client = try await OtherClient(on: bus)
    try await create("old", ["of": "old"], by: client)
    let (store, moved) = (bus["data/vault"], bus["data/moved"])
    try FileManager.default.moveItem(atPath: store, toPath: moved)
    for _ in 0..<2 {
      let refused = await #expect(throws: DBusError.self) {
        try await create("lost", ["of": "none"], by: client)
      }
      #expect(refused?.message.contains("Put it back where it was") == true, "\(refused as Any)")
    }
    // What takes its place is used, and gets what is stored.
    try await bus.run(Tool.program, "init", store)
    try await create("new", ["of": "new"], by: client)
    #expect(try await search(["of": "old"], by: client).isEmpty)
    #expect(try await search(["of": "new"], by: client).count == 1)
    // Moved, not removed: the service may still be writing in it.
    try FileManager.default.moveItem(atPath: store, toPath: bus["data/new"])
    try FileManager.default.moveItem(atPath: moved, toPath: store)
    #expect(try await search(["of": "old"], by: client).count == 1)
    #expect(try await search(["of": "none"], by: client).isEmpty)
  }
}
