import SecretStores
import SessionToolsDBus

extension SecretService {
  /// Answers a call.
  ///
  /// - Throws: The error that is the answer.
  func answer(_ call: DBusCall) throws(DBusError) -> [Variant] {
    guard let path = ObjectPath(call.path) else { throw .noSuchObject(call.path) }
    let object = try named(path)
    switch call.interface {
    case Interface.properties?: return try answer(call, toPropertiesOf: object)
    case Interface.introspectable?:
      guard call.method == "Introspect" else { throw .unknownMethod(call) }
      return [
        .string(Interface.introspection(of: object.interface, children: children(of: object)))
      ]
    default: break
    }
    guard let interface = object.interface,
      call.interface == nil || call.interface == interface.rawValue,
      let method = interface.methods.first(where: { $0.name == call.method })
    else { throw .unknownMethod(call) }
    guard call.signature == method.signature else {
      throw .invalid("\(method.name) takes \(method.signature), not \(call.signature)")
    }
    let arguments = call.arguments
    return switch object {
    case .service: try answer(method.name, arguments, call.sender)
    case .collection(let name): try answer(method.name, arguments, call.sender, collection: name)
    case .item(let id): try answer(method.name, arguments, call.sender, item: id)
    case .session(let name): try closeSession(name, of: call.sender)
    case .prompt(let name): try answer(method.name, call.sender, prompt: name)
    case .alias, .parent: throw .unknownMethod(call)
    }
  }

  /// Returns the object with its own name.
  private func named(_ object: ObjectPath) throws(DBusError) -> ObjectPath {
    guard case .alias(let alias) = object else { return object }
    guard let name = collection(ofAlias: alias) else { throw .noSuchObject(object.text) }
    return .collection(name)
  }

  // MARK: Methods

  private func answer(
    _ method: String, _ arguments: [Variant], _ client: String
  ) throws(DBusError) -> [Variant] {
    switch method {
    case "OpenSession":
      let session = try sessions.open(
        by: client, algorithm: arguments[0].text ?? "", input: arguments[1])
      return [session.output, .objectPath(session.path)]
    case "CreateCollection":
      let alias = arguments[1].text ?? ""
      let path = try makeCollection(arguments[0].entries, alias: alias.isEmpty ? nil : alias)
      return [.objectPath(path), .objectPath(ObjectPath.none)]
    case "SearchItems":
      let found = try search(Attributes(arguments[0]), by: client)
      return [.objectPaths(found.unlocked), .objectPaths(found.locked)]
    case "Unlock":
      let answer = try unlock(arguments[0].objectPaths ?? [], for: client)
      return [.objectPaths(answer.unlocked), .objectPath(answer.prompt)]
    case "Lock":
      return [
        .objectPaths(lock(arguments[0].objectPaths ?? [])), .objectPath(ObjectPath.none),
      ]
    case "GetSecrets":
      return [
        try secrets(arguments[0].objectPaths ?? [], arguments[1].objectPath ?? "", client)
      ]
    case "ReadAlias":
      let name = collection(ofAlias: arguments[0].text ?? "")
      return [.objectPath(name.map { ObjectPath.collection($0).text } ?? ObjectPath.none)]
    default:
      try setAlias(arguments[0].text ?? "", to: arguments[1].objectPath ?? "")
      return []
    }
  }

  private func makeCollection(
    _ properties: [String: Variant], alias: String?
  ) throws(DBusError) -> String {
    if let alias, let name = collection(ofAlias: alias) { return ObjectPath.collection(name).text }
    let label = properties[Interface.collection.property("Label")]?.text ?? ""
    return try with(opened()) { keyring throws(StoreError) in
      ObjectPath.collection(try keyring.makeCollection(label: label, alias: alias)).text
    }
  }

  private func setAlias(_ alias: String, to path: String) throws(DBusError) {
    var name: String?
    if path != ObjectPath.none {
      guard let object = ObjectPath(path), case .collection(let found) = try named(object),
        found != Self.transientCollection
      else { throw .noSuchObject(path) }
      _ = try collection(found)
      name = found
    }
    try with(opened()) { keyring throws(StoreError) in try keyring.setAlias(alias, to: name) }
  }

  /// Returns the secrets of those of some items that are there, and unlocked.
  private func secrets(
    _ paths: [String], _ session: String, _ client: String
  ) throws(DBusError) -> Variant {
    var secrets: [Variant] = []
    var byteCount = 0
    for path in paths {
      guard case .item(let id)? = ObjectPath(path) else { continue }
      let secret: (value: Variant, byteCount: Int)
      do throws(DBusError) {
        secret = try self.secret(of: id, session, client)
      } catch  where error.saysNoItem || error.saysLocked {
        continue
      }
      byteCount += secret.byteCount
      guard byteCount <= Self.maximumAnswerByteCount else {
        throw .limit("these secrets are more than a message can carry; ask for fewer at once")
      }
      secrets.append(.entry(.objectPath(path), secret.value))
    }
    return .array(secrets, of: "{o\(Interface.secretType)}")
  }

  private func secret(
    of id: ItemID, _ session: String, _ client: String
  ) throws(DBusError) -> (value: Variant, byteCount: Int) {
    let (keyring, found, description) = try item(id)
    let value = try with(keyring) { keyring throws(StoreError) in try keyring.secret(of: found) }
    guard let value else { throw .noSuchObject(id.path) }
    let sealed = try sessions.seal(
      value, contentType: description.contentType, session: session, of: client)
    return (sealed, value.byteCount)
  }

  private func answer(
    _ method: String, _ arguments: [Variant], _ client: String, collection name: String
  ) throws(DBusError) -> [Variant] {
    switch method {
    case "SearchItems":
      let isLocked = try collection(name).isLocked
      if isLocked { return [.objectPaths(try search(Attributes(arguments[0]), by: client).locked)] }
      return [
        .objectPaths(
          try keyring(of: name).search(Attributes(arguments[0]), in: name).map(\.path))
      ]
    case "CreateItem":
      if try collection(name).isLocked { _ = try opened() }
      let (value, contentType) = try sessions.open(arguments[1], of: client)
      let properties = arguments[0].entries
      let description = ItemDescription(
        label: ExactText(properties[Interface.item.property("Label")]?.text ?? ""),
        attributes: properties[Interface.item.property("Attributes")].map { Attributes($0) }
          ?? Attributes(),
        contentType: contentType)
      let id = try with(keyring(of: name)) { keyring throws(StoreError) in
        try keyring.store(
          value, description, in: name, replaces: arguments[2].boolean ?? false)
      }
      return [.objectPath(id.path), .objectPath(ObjectPath.none)]
    default:
      if try collection(name).isLocked { _ = try opened() }
      try with(keyring(of: name)) { keyring throws(StoreError) in
        try keyring.removeCollection(name)
      }
      return [.objectPath(ObjectPath.none)]
    }
  }

  private func answer(
    _ method: String, _ arguments: [Variant], _ client: String, item id: ItemID
  ) throws(DBusError) -> [Variant] {
    switch method {
    case "GetSecret":
      return [try secret(of: id, arguments[0].objectPath ?? "", client).value]
    case "SetSecret":
      let (keyring, id, _) = try item(id)
      let (value, contentType) = try sessions.open(arguments[0], of: client)
      try with(keyring) { keyring throws(StoreError) in
        try keyring.setSecret(value, contentType: contentType, of: id)
      }
      return []
    default:
      let (keyring, id, _) = try item(id)
      try with(keyring) { keyring throws(StoreError) in try keyring.remove(id) }
      return [.objectPath(ObjectPath.none)]
    }
  }

  private func closeSession(_ name: String, of client: String) throws(DBusError) -> [Variant] {
    guard sessions.belongs(name, to: client) else {
      throw .noSession(ObjectPath.session(name).text)
    }
    sessions.close(name)
    return []
  }

  private func answer(
    _ method: String, _ client: String, prompt name: String
  ) throws(DBusError) -> [Variant] {
    if method == "Prompt" {
      try showPrompt(name, to: client)
    } else {
      try dismissPrompt(name, of: client)
    }
    return []
  }

  // MARK: Properties

  private func answer(
    _ call: DBusCall, toPropertiesOf object: ObjectPath
  ) throws(DBusError) -> [Variant] {
    guard let interface = object.interface,
      let asked = call.arguments.first?.text, asked.isEmpty || asked == interface.rawValue
    else { throw .unknownMethod(call) }
    switch (call.method, call.signature) {
    case ("GetAll", "(s)"): return [.properties(try properties(of: object))]
    case ("Get", "(ss)"):
      guard let value = try properties(of: object)[call.arguments[1].text ?? ""] else {
        throw .unknownProperty(call.arguments[1].text ?? "")
      }
      return [.variant(value)]
    case ("Set", "(ssv)"):
      let name = call.arguments[1].text ?? ""
      guard let property = interface.properties.first(where: { $0.name == name }) else {
        throw .unknownProperty(name)
      }
      let value = call.arguments[2].unwrapped
      guard property.isSettable, value.type == property.type else {
        throw .invalid("\(name) \(property.isSettable ? "is \(property.type)" : "is read only")")
      }
      try set(name, of: object, to: value)
      return []
    default: throw .unknownMethod(call)
    }
  }

  private func set(_ name: String, of object: ObjectPath, to value: Variant) throws(DBusError) {
    switch object {
    case .collection(let collection):
      if try self.collection(collection).isLocked { _ = try opened() }
      try with(keyring(of: collection)) { keyring throws(StoreError) in
        try keyring.setLabel(value.text ?? "", ofCollection: collection)
      }
    case .item(let id):
      let (keyring, found, _) = try item(id)
      try with(keyring) { keyring throws(StoreError) in
        try keyring.change(found) { description in
          if name == "Label" {
            description.label = ExactText(value.text ?? "")
          } else {
            description.attributes = Attributes(value)
          }
        }
      }
    default: break
    }
  }

  /// Returns the properties of an object, by their names.
  ///
  /// - Throws: `NoSuchObject`, `IsLocked`, or the store's error.
  func properties(of object: ObjectPath) throws(DBusError) -> [String: Variant] {
    switch object {
    case .service:
      return ["Collections": .objectPaths(collectionNames.map { ObjectPath.collection($0).text })]
    case .collection(let name):
      let (description, isLocked) = try collection(name)
      let ids = isLocked ? [] : try keyring(of: name).ids(in: name)
      return [
        "Items": .objectPaths(ids.map(\.path)), "Label": .string(description.label.text),
        "Locked": .boolean(isLocked), "Created": .unsigned64(description.created),
        "Modified": .unsigned64(description.modified),
      ]
    case .item(let id):
      var (description, isLocked) = (ItemDescription(), false)
      do throws(DBusError) {
        description = try item(id).2
      } catch  where error.saysLocked {
        isLocked = true
        description.attributes = attributesSearched(as: id) ?? Attributes()
      }
      return [
        "Attributes": description.attributes.variant, "Label": .string(description.label.text),
        "Locked": .boolean(isLocked), "Created": .unsigned64(description.created),
        "Modified": .unsigned64(description.modified),
      ]
    default: return [:]
    }
  }

  private func children(of object: ObjectPath) -> [String] {
    switch object {
    case .service: return ["aliases", "collection", "prompt", "session"]
    case .parent(["collection"]): return collectionNames
    case .parent(["aliases"]): return ["default"]
    case .parent(["session"]): return sessions.names
    case .collection(let name):
      return ((try? keyring(of: name))?.ids(in: name) ?? []).map(\.name)
    default: return []
    }
  }
}

extension ObjectPath {
  /// The interface of its methods; `nil` if it has none.
  fileprivate var interface: Interface? {
    switch self {
    case .service: .service
    case .collection, .alias: .collection
    case .item: .item
    case .session: .session
    case .prompt: .prompt
    case .parent: nil
    }
  }
}

extension DBusError {
  fileprivate static func unknownProperty(_ name: String) -> DBusError {
    DBusError(
      .remote("org.freedesktop.DBus.Error.UnknownProperty"), "there is no property \(name)")
  }

  fileprivate var saysNoItem: Bool { name == "org.freedesktop.Secret.Error.NoSuchObject" }
}
