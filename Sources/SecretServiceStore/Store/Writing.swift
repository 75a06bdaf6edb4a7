import SessionToolsDBus
import SecretStores

extension Operation {
  /// How often a value is written that is not stored afterwards.
  private static let maximumAttemptCount = 3

  /// Stores a value, reads it back, and removes other items under its name.
  func put(_ value: SecretBytes, for name: ItemName) async throws {
    if try await isPut(value, for: name) { return }
    for _ in 1..<Self.maximumAttemptCount {
      let isDone = try await confirming { () async throws -> Bool in
        try await isPut(value, for: name)
      }
      if isDone { return }
    }
    throw StoreError(
      .outcomeUnknown, store: store.name,
      reason: "the service does not return the value that was stored for \(name)",
      remedy: "Read the item again; if it is wrong, keep such values in a sealed store")
  }

  /// Stores a value and reads it back; returns `false` when it is not stored.
  private func isPut(_ value: SecretBytes, for name: ItemName) async throws -> Bool {
    let before = try await lines(with: ItemAttributes.identity(of: name), .one, .large)
    let newest = try await provider.newest(of: Array(before.keys), until: deadline)
    let collection =
      if let newest { Provider.collection(of: newest) } else { try await collection() }
    try await unlockIfLocked(collection)
    let path = try await write(value, for: name, over: newest, in: collection)
    return try await confirming { () async throws in
      guard try await isStored(value, for: name, at: path, over: before[path]?.bytes) else {
        return false
      }
      // Left by a program that died. Items made meanwhile stay: of two concurrent writers, each
      // would remove the other's.
      for other in before.keys where other != path { try await delete(other) }
      return true
    }
  }

  /// Writes a value into the existing item, or makes one.
  ///
  /// - Returns: The path of the item.
  private func write(
    _ value: SecretBytes, for name: ItemName, over existing: String?, in collection: String
  ) async throws -> String {
    // A large item keeps its size attribute: different attributes would make another item.
    let large = try await provider.search(
      collection, for: ItemAttributes.identity(of: name, size: .large), until: deadline)
    let size = large.isEmpty ? ItemAttributes.Size(of: value) : .large
    if let path = existing {
      // A growing item becomes `large` before its value does.
      let isGrowing = size == .large && !large.contains(path)
      if isGrowing { try await setAttributes(of: path, to: name, size) }
      if let path = try await create(name, size, value, over: path, in: collection) { return path }
    }
    if let path = try await create(name, size, value, over: nil, in: collection) { return path }
    throw DBusError.unexpected("CreateItem")
  }

  private func setAttributes(
    of path: String, to name: ItemName, _ size: ItemAttributes.Size
  ) async throws {
    do throws(DBusError) {
      _ = try await provider.call(
        path, .properties, "Set",
        [
          .string(ServiceInterface.item.rawValue), .string("Attributes"),
          .variant(.strings(ItemAttributes.all(of: name, size: size))),
        ], until: deadline)
    } catch let error where error.saysGone {
      // The next call notices it too.
    }
  }

  /// Writes a value into an item.
  ///
  /// - Returns: `false` when the item is gone.
  private func setValue(
    of path: String, to value: SecretBytes, for name: ItemName
  ) async throws -> Bool {
    try await writing { () async throws in
      do {
        _ = try await provider.call(
          path, .item, "SetSecret", [link.session.seal(ItemLine.encode(value, for: name))],
          until: deadline)
        return true
      } catch let error as DBusError where error.saysGone {
        return false
      }
    }
  }

  /// Makes an item, or replaces one.
  ///
  /// gnome-keyring signals a change only when the item is replaced. KeePassXC answers with a
  /// prompt, and 2.7.4 would then ask a person whether an item that another program made may be
  /// replaced, even when it is configured not to ask: so the value is written into the existing
  /// item instead.
  ///
  /// - Returns: The path of the item; `nil` when the item to replace is gone.
  private func create(
    _ name: ItemName, _ size: ItemAttributes.Size, _ value: SecretBytes, over existing: String?,
    in collection: String
  ) async throws -> String? {
    let label =
      "\(EscapedName.escape(name.namespace.service)): \(EscapedName.escape(name.identifier))"
    let properties: [String: Variant] = [
      "org.freedesktop.Secret.Item.Label": .string(label),
      "org.freedesktop.Secret.Item.Attributes": .strings(ItemAttributes.all(of: name, size: size)),
    ]
    return try await writing { () async throws in
      let answer = try await provider.call(
        collection, .collection, "CreateItem",
        [
          .properties(properties), link.session.seal(ItemLine.encode(value, for: name)),
          // Replace an item that was made meanwhile.
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
        // The prompt is never shown, so no one is asked; if this fails, it ends with the
        // connection.
        _ = try? await provider.call(prompt, .prompt, "Dismiss", [], until: deadline)
        return try await setValue(of: existing, to: value, for: name) ? existing : nil
      }
      let result = try await confirmed(prompt, in: collection)
      guard let item = result.objectPath else { throw DBusError.unexpected("CreateItem") }
      return item
    }
  }

  /// Returns whether a written value is stored, or a later value of another writer.
  private func isStored(
    _ value: SecretBytes, for name: ItemName, at path: String, over before: SecretBytes?
  ) async throws -> Bool {
    guard let line = try await line(of: path) else { return false }
    let item = try line.item.get()
    guard item.name == name else {
      throw store.corrupt("the entry for \(name) contains another item")
    }
    return item.value == value || line.bytes != before
  }

  /// Removes the items of a name.
  func remove(_ name: ItemName) async throws {
    let paths = try await items(with: ItemAttributes.identity(of: name), .known)
    guard let newest = try await provider.newest(of: paths, until: deadline) else { return }
    try await unlockIfLocked(collectionsOf: paths)
    // The newest item, which counts, goes last, so that an older one never counts.
    for (number, path) in (paths.filter { $0 != newest } + [newest]).enumerated() {
      if number == 0 {
        try await delete(path)
      } else {
        try await confirming { () async throws in try await delete(path) }
      }
    }
    // If the wallet is closed, KWallet takes the item off its list and reports success; when the
    // wallet is opened, the secret is there again, without the attributes.
    try await confirming { () async throws in
      let collections = Set(paths.map(Provider.collection(of:))).sorted()
      let locked = try await provider.locked(among: collections, until: deadline)
      if !locked.isEmpty { throw store.locked() }
    }
  }

  private func delete(_ path: String) async throws {
    try await writing { () async throws in
      do {
        let answer = try await provider.call(path, .item, "Delete", [], until: deadline)
        guard let prompt = answer.first?.objectPath else { throw DBusError.unexpected("Delete") }
        if prompt != Provider.noPath {
          _ = try await confirmed(prompt, in: Provider.collection(of: path))
        }
      } catch let error as DBusError where error.saysGone {
        // Another program has removed it first.
      }
    }
  }

  /// Lets the provider continue with a change that it answered with a prompt.
  ///
  /// KeePassXC answers every change with one, and asks no one unless it is configured to. A
  /// provider whose collection is locked would ask for a password.
  private func confirmed(_ prompt: String, in collection: String) async throws -> Variant {
    try await unlockIfLocked(collection)
    let result = try await asking(store.options.prompts) { promptDeadline in
      try await provider.result(
        of: prompt, until: promptDeadline ?? deadline, on: provider.connection)
    }
    guard let result else {
      throw StoreError(
        .promptDismissed, store: store.name,
        reason: "the service's question about the change was dismissed")
    }
    return result
  }
}

// MARK: Unknown outcomes

/// A requested change whose provider ended before it answered.
struct UnansweredChange: Error {
  let reason: any Error
}

extension Operation {
  /// Runs a call that changes something: without an answer, it is unknown whether the change was
  /// made.
  private func writing<Result>(_ body: () async throws -> Result) async throws -> Result {
    do {
      return try await body()
    } catch let error as DBusError {
      // KWallet has then made an item without a value.
      if error.saysUnreadable { throw UnansweredChange(reason: DBusError.otherKey()) }
      throw error.saysRefused ? error : unanswered(error)
    }
  }

  /// Runs the steps after a change: whatever they throw, the change may have been made.
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
  /// Whether a provider could not open the secret that it received.
  ///
  /// KWallet reports this with Qt's name for an invalid path; this store never sends an invalid
  /// path.
  fileprivate var saysUnreadable: Bool {
    name == "org.qtproject.QtDBus.Error.InvalidObjectPath"
  }

  /// Whether a provider, or the bus in its place, reported that it did not perform the call.
  fileprivate var saysRefused: Bool {
    guard let name else { return false }
    return !["org.freedesktop.DBus.Error.NoReply", Self.unexpectedName].contains(name)
  }
}
