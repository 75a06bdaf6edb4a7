import Foundation
import SessionTools
import SessionToolsTesting
import SessionToolsTestSupport
import Synchronization
import Testing

private struct User: Codable, Equatable, Sendable {
  var name: String
}

/// In processes of their own, because the environment determines the keychain.
@Suite struct KeychainTests {
  @Test func `a keychain keeps texts, bytes and values for the next one of its name`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "com.example.mail")
        try keychain.set("s3cret", key: "token")
        try keychain.set(Data([0, 255]), key: "data")
        try keychain.set(SecretBytes([1, 2]), key: "bytes")
        try keychain.set(User(name: "Ada"), key: "user")
        try keychain.set("", key: "empty")

        let next = Keychain(service: "com.example.mail")
        #expect(try next.get("token") == "s3cret")
        #expect(try next.getData("data") == Data([0, 255]))
        #expect(try next.getBytes("bytes") == SecretBytes([1, 2]))
        #expect(try next.get("user", as: User.self) == User(name: "Ada"))
        #expect(try next.get("empty") == "")
        #expect(try next.keys() == ["bytes", "data", "empty", "token", "user"])
        #expect(try next.contains("token"))
        try next.set("newer", key: "token")
        #expect(try keychain.get("token") == "newer")
        try next.remove("token")
        try next.remove("token")
        #expect(try keychain.get("token") == nil)
        #expect(try !keychain.contains("token"))
        try next.removeAll()
        #expect(try keychain.keys() == [])
      }
    }
  }

  @Test func `without blocking, everything is the same`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        let keychain = Keychain(service: "com.example.mail")
        #expect(try await keychain.get("token") == nil)
        try await keychain.set("s3cret", key: "token")
        try await keychain.set(Data([1]), key: "data")
        try await keychain.set(SecretBytes([2]), key: "bytes")
        try await keychain.set(User(name: "Ada"), key: "user")
        #expect(try await keychain.get("token") == "s3cret")
        #expect(try await keychain.getData("data") == Data([1]))
        #expect(try await keychain.getBytes("bytes") == SecretBytes([2]))
        #expect(try await keychain.get("user", as: User.self) == User(name: "Ada"))
        #expect(try await keychain.keys().count == 4)
        #expect(try await keychain.contains("user"))
        try await keychain.remove("user")
        #expect(try await !keychain.contains("user"))
        try await keychain.removeAll()
        try await keychain.removeAll()
        #expect(try await keychain.keys().isEmpty)
      }
    }
  }

  @Test func `reading and removing make nothing`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "com.example.mail")
        #expect(try keychain.get("token") == nil && keychain["token"] == nil)
        #expect(try keychain.keys() == [] && !keychain.contains("token"))
        try keychain.remove("token")
        try keychain.removeAll()
        keychain["token"] = nil
        #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
      }
    }
  }

  @Test func `its items are those of sessions and containers`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "com.example.mail")
        let session = UserSession<User>(
          container: KeychainStorageContainer(keychain), storageIdentifier: "user")
        try session.signIn(User(name: "Ada"))
        #expect(try keychain.get("user", as: User.self) == User(name: "Ada"))
        try keychain.set(User(name: "Bob"), key: "user")
        #expect(session.currentUser == User(name: "Bob"))

        let config = KeychainContainerConfig(keychainName: "com.example.mail")
        let other = KeychainStorageContainer<User>(config: config)
        #expect(try other.item(forIdentifier: "user") == User(name: "Bob"))
        try keychain.removeAll()
        #expect(!session.isSignedIn)
      }
    }
  }

  /// What the tool stores is a text, and not a JSON text.
  @Test func `a text is stored as it is, whatever its type is called`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "com.example.mail")
        try set("quote\"d", in: keychain)
        #expect(try keychain.getData("item") == Data("quote\"d".utf8))
        #expect(try keychain.get("item", as: String.self) == "quote\"d")
        try set(Data([9]), in: keychain)
        #expect(try keychain.get("item", as: Data.self) == Data([9]))
      }
    }
  }

  /// JSON's null would be a text of four letters for the next reader.
  @Test func `an optional is stored as its value, and nil is refused`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "com.example.mail")
        let text: String? = "s3cret"
        try keychain.set(text, key: "token")
        #expect(try keychain.get("token") == "s3cret")
        let none: String? = nil
        expect(StoreError.unencodable) { try keychain.set(none, key: "token") }
        #expect(try keychain.get("token") == "s3cret")
        let bytes: [UInt8] = [1, 2]
        try keychain.set(bytes, key: "bytes")
        #expect(try keychain.getData("bytes") == Data(bytes))
        #expect(try keychain.get("bytes", as: [UInt8].self) == bytes)
        let user: User? = User(name: "Ada")
        try keychain.set(user, key: "user")
        #expect(try keychain.get("user", as: User.self) == user)
      }
    }
  }

  @Test func `old names read the same`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "com.example.mail")
        #expect(oldKeys(of: keychain).isEmpty)
        try keychain.set("s3cret", key: "token")
        #expect(try keychain.getString("token") == "s3cret")
        #expect(oldKeys(of: keychain) == ["token"])
        #expect(oldKeys(of: Keychain(service: "")).isEmpty)
      }
    }
  }

  @Test(arguments: [
    ("https://example.com/path?query", "https://example.com"),
    ("HTTPS://EXAMPLE.com:8443", "https://example.com:8443"),
    ("Example.com", "https://example.com"), ("example.com:8443/path", "https://example.com:8443"),
    ("https://user:s3cret@example.com", "https://example.com"),
    ("user:s3cret@example.com", "https://example.com"),
    ("https://[::1]:8443", "https://[::1]:8443"),
    ("https://[::1:8443]", "https://[::1:8443]"),
    ("https://a%2Fb.example", "https://a%2Fb.example".lowercased()),
    ("", ""), ("https://", ""), ("/path", ""), ("no name", ""),
  ])
  func `a server is its protocol, name and port`(_ server: String, _ service: String) {
    #expect(Keychain(server: server, protocolType: .https).service == service)
  }

  @Test func `services, groups, installations and servers are apart`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let install = KeychainLifecycle.currentInstall(identifier: "install")
        let keychains = [
          Keychain(service: "one"), Keychain(service: "two"),
          Keychain(service: "one", accessGroup: "group"),
          Keychain(service: "two", accessGroup: "group"),
          Keychain(service: "one", lifecycle: install),
          Keychain(server: "https://example.com/path", protocolType: .https),
          Keychain(server: "https://example.com:8443", protocolType: .https),
          Keychain(server: "https://example.com", protocolType: .http),
          Keychain(server: "example.com", protocolType: .imap, accessGroup: "group"),
        ]
        for (number, keychain) in keychains.enumerated() {
          #expect(try keychain.get("name") == nil)
          try keychain.set("\(number)", key: "name")
        }
        for (number, keychain) in keychains.enumerated() {
          #expect(try keychain.get("name") == "\(number)")
          try keychain.removeAll()
          #expect(try keychains.dropFirst(number + 1).allSatisfy { try $0.contains("name") })
        }
        let address = try #require(URL(string: "HTTPS://EXAMPLE.com"))
        #expect(Keychain(server: address, protocolType: .https).service == "https://example.com")
      }
    }
  }

  @Test func `a subscript has KeychainAccess' meaning, and its errors are notices`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        let notices = Mutex<[String]>([])
        SessionEvent.observer = { event in
          if case .storeNotice(_, let text) = event { notices.withLock { $0.append(text) } }
        }
        let keychain = Keychain(service: "com.example.mail")
        keychain["token"] = "s3cret"
        #expect(keychain["token"] == "s3cret" && keychain[string: "token"] == "s3cret")
        keychain[data: "bytes"] = Data([1])
        #expect(keychain[data: "bytes"] == Data([1]))
        keychain[string: "token"] = nil
        keychain[data: "bytes"] = nil
        #expect(try await keychain.keys() == [])

        keychain["token"] = "s3cret"
        let store = "\(home)/session-tools/com.example.mail"
        let journal = try Data(contentsOf: URL(filePath: "\(store)/journal"))
        try Data("damaged".utf8).write(to: URL(filePath: "\(store)/journal"))
        let damaged = Keychain(service: "com.example.mail")
        #expect(damaged["token"] == nil)
        damaged["token"] = "other"
        let texts = notices.withLock { $0.filter { $0.hasPrefix("a subscript failed: ") } }
        #expect(texts.count == 2 && !texts.joined().contains("other"))
        await #expect(throws: StoreError.self) { try await damaged.get("token") }
        try journal.write(to: URL(filePath: "\(store)/journal"))
        #expect(Keychain(service: "com.example.mail")["token"] == "s3cret")
      }
    }
  }

  @Test func `what cannot be found out is an error, and no absent item`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let unnamed = Keychain(service: "")
        expect(StoreError.invalidName) { try unnamed.set("text", key: "key") }
        expect(StoreError.invalidName) { try unnamed.get("key") }
        expect(StoreError.invalidName) { try unnamed.keys() }
        let keychain = Keychain(service: "com.example.mail")
        expect(StoreError.invalidName) { try keychain.set("text", key: "") }
        try keychain.set(Data([0xff]), key: "bytes")
        expect(StoreError.undecodable) { try keychain.get("bytes") }
        expect(StoreError.undecodable) { try keychain.get("bytes", as: User.self) }
        try keychain.set("null", key: "null")
        expect(StoreError.undecodable) { try keychain.get("null", as: User.self) }
        expect(StoreError.unencodable) { try keychain.set(Double.nan, key: "bytes") }
        #expect(try keychain.getData("bytes") == Data([0xff]))
        // Another program's files, where the keychain would be.
        _ = unsafe setenv("XDG_DATA_HOME", "\(home)/session-tools/com.example.mail/journal", 1)
        let elsewhere = Keychain(service: "com.example.mail")
        #expect(throws: StoreError.self) { try elsewhere.get("bytes") }
        #expect(throws: StoreError.self) { try elsewhere.contains("bytes") }
      }
    }
  }

  @Test func `a stream has the changes of this keychain by any object`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        let keychain = Keychain(service: "one", accessGroup: "group")
        try await keychain.set("text", key: "first")
        // Of a value that no one keeps.
        var changes = Keychain(service: "one", accessGroup: "group").changes().makeAsyncIterator()
        // It was opened: until then, changes by others may be missed, which this stands for.
        #expect(await changes.next() == .resynchronize)
        try await Keychain(service: "two", accessGroup: "group").set("text", key: "other")
        try await Keychain(service: "one", accessGroup: "group").set("text", key: "second")
        while let change = await changes.next() {
          guard case .changed(let names) = change else { continue }
          #expect(names.map(\.identifier) == ["second"])
          break
        }
      }
    }
  }

  @Test func `a stream that begins before the keychain has the first change`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        let keychain = Keychain(service: "one")
        var changes = keychain.changes().makeAsyncIterator()
        try await keychain.set("text", key: "first")
        #expect(await changes.next() != nil)
      }
    }
  }

  @Test func `threads that make one keychain at the same time make one`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        try await withThrowingTaskGroup(of: Void.self) { group in
          for number in 0..<20 {
            group.addTask {
              try await Keychain(service: "one").set("\(number)", key: "\(number)")
            }
          }
          try await group.waitForAll()
        }
        #expect(try await Keychain(service: "one").keys().count == 20)
      }
    }
  }

  @Test func `a keychain that was removed has no items, and can be made again`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "one")
        try keychain.set("old", key: "item")
        try FileManager.default.removeItem(atPath: "\(home)/session-tools")
        #expect(try keychain.get("item") == nil && keychain.keys().isEmpty)
        try Keychain(service: "one").set("new", key: "item")
        #expect(try keychain.get("item") == "new")
        try FileManager.default.removeItem(atPath: "\(home)/session-tools")
        try keychain.set("newer", key: "item")
        #expect(try Keychain(service: "one").get("item") == "newer")
      }
    }
  }

  @Test func `a keychain that was removed is made again for exclusive access`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        let keychain = Keychain(service: "one")
        try await keychain.set("old", key: "item")
        try FileManager.default.removeItem(atPath: "\(home)/session-tools")
        let name = try ItemName("item", in: StoreNamespace(service: "one"))
        try await keychain.store.withExclusiveAccess(to: name, timeout: .seconds(10)) {
          try await keychain.set("new", key: "item")
        }
        #expect(try await Keychain(service: "one").get("item") == "new")
      }
    }
  }

  @Test func `a passphrase opens it, and its absence is an error`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let open = KeychainProtection.passphrase { SecretBytes(utf8: "correct horse") }
        try Keychain(service: "one", protection: open).set("text", key: "item")
        #expect(try Keychain(service: "one", protection: open).get("item") == "text")
        expect(StoreError.keyMissing) { try Keychain(service: "one").get("item") }
        let wrong = KeychainProtection.passphrase { SecretBytes(utf8: "wrong") }
        expect(StoreError.wrongKey) { try Keychain(service: "one", protection: wrong).get("item") }
      }
    }
  }

  @Test func `a printed keychain has no items`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let keychain = Keychain(service: "one", accessGroup: "group")
        try keychain.set("s3cret", key: "token")
        #expect("\(keychain)" == "keychain one of the group group")
        var dumped = ""
        dump(keychain, to: &dumped)
        #expect(!dumped.contains("s3cret"))
      }
    }
  }
}

/// Calls what warns, as code from KeychainAccess does.
private protocol OldCode {
  static func keys(of keychain: Keychain) -> [String]
}

private enum Old {}

extension Old: OldCode {
  @available(*, deprecated)
  static func keys(of keychain: Keychain) -> [String] { keychain.allKeys() }
}

private func oldKeys(of keychain: Keychain) -> [String] {
  (Old.self as any OldCode.Type).keys(of: keychain)
}

private func set<Value: Codable>(_ value: Value, in keychain: Keychain) throws {
  try keychain.set(value, key: "item")
}

private func expect<Value>(
  _ code: StoreError.Code, _ body: () throws -> Value, _ place: SourceLocation = #_sourceLocation
) {
  let error = #expect(throws: StoreError.self, sourceLocation: place) { _ = try body() }
  #expect(error?.code == code, sourceLocation: place)
}
