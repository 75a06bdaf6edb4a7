import Foundation
import SessionTools
import SessionToolsTesting
import SessionToolsTestSupport
import Testing

private struct User: Codable, Equatable, Sendable {
  var name: String
}

/// In processes of their own, because the environment determines the keychain.
@Suite struct KeychainStorageContainerTests {
  @Test func `a keychain keeps an item for the next container of the same configuration`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let config = KeychainContainerConfig(keychainName: "com.example.mail")
        try container(config).storeItem(User(name: "Ada"), forIdentifier: "user")
        #expect(try container(config).item(forIdentifier: "user") == User(name: "Ada"))
        try container(config).removeItem(forIdentifier: "user")
        #expect(try container(config).containsItem(forIdentifier: "user") == false)
      }
    }
  }

  @Test func `reading and removing create nothing`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let session = UserSession<User>(
          container: container(KeychainContainerConfig(keychainName: "com.example.mail")),
          storageIdentifier: "user", notificationPoster: nil)
        #expect(!session.isLoggedIn)
        #expect(session.currentUser == nil)
        guard case .signedOut = session.state else {
          Issue.record("\(session.state)")
          return
        }
        try session.didLogOut(nil)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
      }
    }
  }

  /// In a process of another user, who has no account.
  @Test(.enabled(if: getuid() == 0, "only root can become another user"))
  func `without a home directory no one is signed out`() async {
    await #expect(processExitsWith: .success) {
      #expect(setuid(54_321) == 0)
      for name in ["HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] { _ = unsafe unsetenv(name) }
      let session = UserSession<User>(
        container: container(KeychainContainerConfig(keychainName: "com.example.mail")),
        storageIdentifier: "user", notificationPoster: nil)
      for home in [nil, "", "."] {
        if let home { _ = unsafe setenv("HOME", home, 1) }
        guard case .unavailable(let error) = session.state else {
          Issue.record("\(session.state)")
          return
        }
        #expect((error as? StoreError)?.remedy?.hasPrefix("Set HOME or XDG_DATA_HOME") == true)
        #expect(throws: (any Error).self) { try session.didLogIn(User(name: "Ada")) }
      }
    }
  }

  @Test func `only the user can access the store and its key file`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        try container(KeychainContainerConfig(keychainName: "com.example.mail"))
          .storeItem(User(name: "Ada"), forIdentifier: "user")
        let store = "\(home)/session-tools/com.example.mail"
        let key = "\(home)/session-tools/keys/\(try SealedFileStore.identifier(at: store)).key"
        #expect(try permissions(of: store) == 0o700)
        #expect(try permissions(of: "\(store)/journal") == 0o600)
        #expect(try permissions(of: key) == 0o600)
        #expect(try SealedFileStore.keySlots(at: store).count == 1)
      }
    }
  }

  @Test func `names that are equal as joined text are kept apart`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let first = KeychainContainerConfig(
          keychainName: "bc", accessGroupName: "group", lifecycle: .currentInstall(identifier: "a"))
        let second = KeychainContainerConfig(
          keychainName: "c", accessGroupName: "group", lifecycle: .currentInstall(identifier: "ab"))
        let third = KeychainContainerConfig(keychainName: "abc", accessGroupName: "group")
        #expect(first.keychainName == second.keychainName)
        #expect(first.keychainName == third.keychainName)
        try container(first).storeItem(User(name: "Ada"), forIdentifier: "user")
        #expect(try container(second).item(forIdentifier: "user") == nil)
        #expect(try container(third).item(forIdentifier: "user") == nil)
        #expect(container(first) == container(first))
        #expect(container(first) != container(second))
      }
    }
  }

  @Test func `a lost key and a damaged store are unavailable and nothing is recreated`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let config = KeychainContainerConfig(keychainName: "com.example.mail")
        try container(config).storeItem(User(name: "Ada"), forIdentifier: "user")
        let store = "\(home)/session-tools/com.example.mail"
        let key = "\(home)/session-tools/keys/\(try SealedFileStore.identifier(at: store)).key"
        let before = try Data(contentsOf: URL(filePath: "\(store)/journal"))

        try FileManager.default.moveItem(atPath: key, toPath: "\(home)/key")
        expectUnavailable(config, StoreError.keyMissing)
        #expect(throws: StoreError.self) {
          try container(config).storeItem(User(name: "Eve"), forIdentifier: "user")
        }
        try FileManager.default.moveItem(atPath: "\(home)/key", toPath: key)
        try FileManager.default.moveItem(atPath: "\(store)/journal", toPath: "\(home)/journal")
        expectUnavailable(config, StoreError.corrupt)
        try FileManager.default.moveItem(atPath: "\(home)/journal", toPath: "\(store)/journal")
        #expect(try Data(contentsOf: URL(filePath: "\(store)/journal")) == before)
        #expect(try container(config).item(forIdentifier: "user") == User(name: "Ada"))
      }
    }
  }

  @Test func `an empty name is an error and creates no directory`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home throws in
        expectUnavailable(KeychainContainerConfig(keychainName: ""), StoreError.invalidName)
        #expect(try FileManager.default.contentsOfDirectory(atPath: home).isEmpty)
      }
    }
  }

  @Test func `a name cannot leave the directory of keychains`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        for name in ["../../escape", ".", "..", "keys", "a/b", "ключ", "a\u{0}b", "%2E"] {
          let config = KeychainContainerConfig(keychainName: name)
          try container(config).storeItem(User(name: name), forIdentifier: "user")
          #expect(try container(config).item(forIdentifier: "user") == User(name: name))
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: home) == ["session-tools"])
        let made = try FileManager.default.contentsOfDirectory(atPath: "\(home)/session-tools")
        #expect(
          Set(made) == [
            "%2E.%2F..%2Fescape", "%2E", "%2E.", "%6Beys", "a%2Fb", "%D0%BA%D0%BB%D1%8E%D1%87",
            "a%00b", "%252E", "keys",
          ])
      }
    }
  }

  /// File names have at most 255 bytes, and each of a letter's bytes takes three.
  @Test func `a name of any length is the name of a keychain of its own`() async {
    await #expect(processExitsWith: .success) {
      try inTemporaryHome { home in
        let department = "Почтовая программа для всей организации — продакшен-окружение"
        let names = [
          department, department + " 2", String(repeating: "x", count: 4096),
          String(repeating: "信", count: 1365), String(repeating: "x", count: 120),
        ]
        for name in names {
          let config = KeychainContainerConfig(keychainName: name)
          #expect(try container(config).item(forIdentifier: "user") == nil)
          try container(config).storeItem(User(name: name), forIdentifier: "user")
        }
        for name in names {
          let config = KeychainContainerConfig(keychainName: name)
          #expect(try container(config).item(forIdentifier: "user") == User(name: name))
        }
        let made = try FileManager.default.contentsOfDirectory(atPath: "\(home)/session-tools")
        // With the directory of the keys; eCryptfs takes names of 143 bytes.
        #expect(made.count == names.count + 1 && made.allSatisfy { $0.utf8.count <= 120 })
      }
    }
  }

  @Test func `a keychain keeps the promises of every container`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        do {
          #expect(ContainerConformance.checks(for: try keychainUnderTest()).count > 25)
          try await ContainerConformance.run { try keychainUnderTest() }
        } catch {
          // An error thrown here would not be shown.
          Issue.record("\(error)")
        }
      }
    }
  }

  /// The passphrase is asked for by a person, who may be away.
  @Test func `the stream of changes begins at once, also while the keychain is being opened`() async
  {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        let passphrase = SecretBytes(utf8: "correct horse")
        let config = KeychainContainerConfig(
          keychainName: "com.example.mail", protection: .passphrase { passphrase })
        try container(config).storeItem(User(name: "Ada"), forIdentifier: "user")
        let isAnswered = DispatchSemaphore(value: 0)
        let waiting = container(
          KeychainContainerConfig(
            keychainName: "com.example.mail",
            protection: .passphrase {
              isAnswered.wait()
              isAnswered.signal()
              return passphrase
            }))
        let changes = waiting.itemChanges(forIdentifier: "user")
        let others = waiting.itemChanges(forIdentifier: "other")
        isAnswered.signal()
        #expect(try waiting.item(forIdentifier: "user") == User(name: "Ada"))
        try container(config).storeItem(User(name: "Grace"), forIdentifier: "user")
        for await _ in changes where try waiting.item(forIdentifier: "user")?.name == "Grace" {
          break
        }
        withExtendedLifetime(others) {}
      }
    }
  }

  @Test func `a session reports a user that another container signs in`() async {
    await #expect(processExitsWith: .success) {
      try await inTemporaryHome { home in
        let config = KeychainContainerConfig(keychainName: "com.example.mail")
        try container(config).storeItem(User(name: "Ada"), forIdentifier: "user")
        let session = Session<User>(container: container(config), storageIdentifier: "user")
        var states = session.states.makeAsyncIterator()
        #expect(await states.next()?.item == User(name: "Ada"))
        try await Session<User>(container: container(config), storageIdentifier: "user")
          .save(User(name: "Grace"))
        #expect(await states.next()?.item == User(name: "Grace"))
      }
    }
  }
}

private func container(_ config: KeychainContainerConfig) -> KeychainStorageContainer<User> {
  KeychainStorageContainer<User>(config: config)
}

/// Returns a new keychain.
private func keychainUnderTest() throws -> ContainerUnderTest<User> {
  let config = KeychainContainerConfig(keychainName: UUID().uuidString)
  let first = container(config)
  // Before the keychain exists, changes by others are not reported.
  try first.storeItem(User(name: "first"), forIdentifier: "first")
  try first.removeItem(forIdentifier: "first")
  return ContainerUnderTest(
    first, items: (User(name: "Ada"), User(name: "Grace")), reopen: { container(config) },
    damage: { identifier in
      let name = try ItemName(identifier, in: first.storeContainer().namespace)
      try await first.store.put(SecretBytes(utf8: "damaged"), for: name)
    })
}

private func expectUnavailable(
  _ config: KeychainContainerConfig, _ code: StoreError.Code,
  sourceLocation: SourceLocation = #_sourceLocation
) {
  let session = Session<User>(container: container(config), storageIdentifier: "user")
  guard case .unavailable(let error) = session.state else {
    Issue.record("\(session.state)", sourceLocation: sourceLocation)
    return
  }
  #expect((error as? StoreError)?.code == code, sourceLocation: sourceLocation)
}

private func permissions(of path: String) throws -> Int? {
  try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
}
