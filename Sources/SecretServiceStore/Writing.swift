import DBus
import SessionToolsBase

extension Operation {
  /// How often a value is written that is not there afterwards.
  private static let largestTryCount = 3

  /// Stores a value, reads it back, and removes what else is there under its name.
  func put(_ value: SecretBytes, for key: StoreKey) async throws {
    let collection = try await collection()
    try await unlockIfLocked(collection)
    if try await isPut(value, for: key, in: collection) { return }
    for _ in 1..<Self.largestTryCount {
      let isDone = try await confirming { () async throws -> Bool in
        try await isPut(value, for: key, in: collection)
      }
      if isDone { return }
    }
    throw StoreError(
      StoreError.outcomeUnknown, store: store.name,
      reason: "the service does not give back what it was given for \(key)",
      remedy: "Read the item again; if it is wrong, keep such values in a sealed store")
  }

  /// Stores a value and reads it back; `false` when it is not there.
  private func isPut(
    _ value: SecretBytes, for key: StoreKey, in collection: String
  ) async throws -> Bool {
    let before = try await lines(with: ItemAttributes.identity(of: key), .large, in: collection)
    let path = try await write(value, for: key, over: Array(before.keys), in: collection)
    return try await confirming { () async throws in
      guard
        try await isStored(value, for: key, at: path, over: before[path]?.bytes, in: collection)
      else { return false }
      // Left by a program that died. What was made meanwhile stays: of two who write at the same
      // time, each would remove the other's.
      for other in before.keys where other != path { try await delete(other, in: collection) }
      return true
    }
  }

  /// Writes a value into the item that is there, or makes one.
  ///
  /// - Returns: The path of the item.
  private func write(
    _ value: SecretBytes, for key: StoreKey, over existing: [String], in collection: String
  ) async throws -> String {
    // An item that is large stays so: attributes that differ make another item.
    let large = try await provider.search(
      collection, for: ItemAttributes.identity(of: key, size: .large), until: deadline)
    let size = large.isEmpty ? ItemAttributes.Size(of: value) : .large
    if let path = try await provider.newest(of: existing, until: deadline) {
      // One that gets large is called so before it is.
      let isGrowing = size == .large && !large.contains(path)
      if isGrowing { try await setAttributes(of: path, to: key, size) }
      if let path = try await create(key, size, value, over: path, in: collection) { return path }
    }
    if let path = try await create(key, size, value, over: nil, in: collection) { return path }
    throw DBusError.unexpected("CreateItem")
  }

  private func setAttributes(
    of path: String, to key: StoreKey, _ size: ItemAttributes.Size
  ) async throws {
    do throws(DBusError) {
      _ = try await provider.call(
        path, .properties, "Set",
        [
          .string(ServiceInterface.item.rawValue), .string("Attributes"),
          .variant(.strings(ItemAttributes.all(of: key, size: size))),
        ], until: deadline)
    } catch let error where error.saysGone {
      // The next call notices as well.
    }
  }

  /// - Returns: `false` when the item is gone.
  private func setValue(
    of path: String, to value: SecretBytes, for key: StoreKey
  ) async throws -> Bool {
    try await writing { () async throws in
      do {
        _ = try await provider.call(
          path, .item, "SetSecret", [link.session.seal(ItemLine.encode(value, for: key))],
          until: deadline)
        return true
      } catch let error as DBusError where error.saysGone {
        return false
      }
    }
  }

  /// Makes an item, or replaces one.
  ///
  /// gnome-keyring tells others of a change only when the item is replaced. KeePassXC answers with
  /// a prompt, and 2.7.4 would then ask a person whether an item that another program made may be
  /// replaced, also when it was told not to ask: so a value is written into the item instead.
  ///
  /// - Returns: The path of the item; `nil` when the one to be replaced is gone.
  private func create(
    _ key: StoreKey, _ size: ItemAttributes.Size, _ value: SecretBytes, over existing: String?,
    in collection: String
  ) async throws -> String? {
    let label =
      "\(EscapedName.escape(key.namespace.service)): \(EscapedName.escape(key.identifier))"
    let properties: [String: Variant] = [
      "org.freedesktop.Secret.Item.Label": .string(label),
      "org.freedesktop.Secret.Item.Attributes": .strings(ItemAttributes.all(of: key, size: size)),
    ]
    return try await writing { () async throws in
      let answer = try await provider.call(
        collection, .collection, "CreateItem",
        [
          .properties(properties), link.session.seal(ItemLine.encode(value, for: key)),
          // One that was made meanwhile.
          .boolean(true),
        ], until: deadline)
      guard answer.count == 2, let item = answer[0].objectPath,
        let prompt = answer[1].objectPath
      else {
        throw DBusError.unexpected("CreateItem")
      }
      if prompt == Provider.noPath { return item }
      if let existing {
        try await unlockIfLocked(collection)
        // Never shown, so nobody is asked; and when this fails it ends with the connection.
        _ = try? await provider.call(prompt, .prompt, "Dismiss", [], until: deadline)
        return try await setValue(of: existing, to: value, for: key) ? existing : nil
      }
      let result = try await confirmed(prompt, in: collection)
      guard let item = result.objectPath else { throw DBusError.unexpected("CreateItem") }
      return item
    }
  }

  /// Whether a value that was written is there, or what somebody else wrote after it.
  private func isStored(
    _ value: SecretBytes, for key: StoreKey, at path: String, over before: SecretBytes?,
    in collection: String
  ) async throws -> Bool {
    guard let line = try await line(of: path, in: collection) else { return false }
    let item = try line.item.get()
    guard item.key == key else { throw store.corrupt("what is kept for \(key) is another item") }
    return item.value == value || line.bytes != before
  }

  /// Removes the items of a key.
  func remove(_ key: StoreKey) async throws {
    let collection = try await collection()
    let paths = try await items(with: ItemAttributes.identity(of: key), in: collection)
    guard let newest = try await provider.newest(of: paths, until: deadline) else { return }
    try await unlockIfLocked(collection)
    // The one that counts goes last, so that none that does not comes to count.
    for (number, path) in (paths.filter { $0 != newest } + [newest]).enumerated() {
      if number == 0 {
        try await delete(path, in: collection)
      } else {
        try await confirming { () async throws in try await delete(path, in: collection) }
      }
    }
    // KWallet takes an item whose wallet is closed off its list and says that it is done; when the
    // wallet is opened, the secret is there again, without the attributes.
    try await confirming { () async throws in
      if try await provider.isLocked(collection, until: deadline) { throw store.locked() }
    }
  }

  private func delete(_ path: String, in collection: String) async throws {
    try await writing { () async throws in
      do {
        let answer = try await provider.call(path, .item, "Delete", [], until: deadline)
        guard let prompt = answer.first?.objectPath else { throw DBusError.unexpected("Delete") }
        if prompt != Provider.noPath { _ = try await confirmed(prompt, in: collection) }
      } catch let error as DBusError where error.saysGone {
        // Somebody else was faster.
      }
    }
  }

  /// Lets the provider go on with a change that it answered with a prompt.
  ///
  /// KeePassXC does so for every change, and asks nobody unless it was told to. One that does it
  /// because the collection is locked would ask for a password.
  private func confirmed(_ prompt: String, in collection: String) async throws -> Variant {
    try await unlockIfLocked(collection)
    let result = try await asking(store.options.prompts) { promptDeadline in
      try await provider.result(
        of: prompt, until: promptDeadline ?? deadline, on: provider.connection)
    }
    guard let result else {
      throw StoreError(
        StoreError.promptDismissed, store: store.name,
        reason: "the service's question about the change was dismissed")
    }
    return result
  }
}

// MARK: What is not known

/// A change that was asked for, and a provider that ended before it answered.
struct UnansweredChange: Error {
  let reason: any Error
}

extension Operation {
  /// Runs a call that changes something: when its answer does not come, nobody knows whether it
  /// did.
  private func writing<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as DBusError {
      // What KWallet makes then is an item without a value.
      if error.saysUnreadable { throw UnansweredChange(reason: DBusError.otherKey()) }
      throw error.saysRefused ? error : unanswered(error)
    }
  }

  /// Runs what follows a change: whatever it throws, the change may have been made.
  private func confirming<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as DBusError {
      throw unanswered(error)
    } catch let error as StoreError {
      throw store.outcomeUnknown(error)
    }
  }

  private func unanswered(_ error: DBusError) -> any Error {
    error.saysRestarted ? UnansweredChange(reason: error) : store.outcomeUnknown(error)
  }
}

extension DBusError {
  /// Whether a provider could not open the secret that it was given.
  ///
  /// This is how KWallet says so, by Qt's name for it; a path that is none is never sent.
  fileprivate var saysUnreadable: Bool {
    name == "org.qtproject.QtDBus.Error.InvalidObjectPath"
  }

  /// Whether a provider, or the bus in its place, said that it did not do what it was told.
  fileprivate var saysRefused: Bool {
    guard let name else { return false }
    return !["org.freedesktop.DBus.Error.NoReply", Self.unexpectedName].contains(name)
  }
}
