import Dispatch
import SecretStores
import SessionToolsDBus
import Synchronization

extension SecretService {
  /// How long a search waits for a person; libsecret waits 25 seconds for an answer.
  private static let patience = DispatchTimeInterval.seconds(20)
  /// How long the answer waits for a question to leave the terminal.
  private static let patienceWithPinentry = DispatchTimeInterval.seconds(2)

  /// Answers a call, now or later.
  func answer(_ call: DBusCall, _ reply: DBusReply) {
    closeIfLocked()
    do throws(DBusError) {
      reply.send(.success(try answer(call)))
    } catch {
      guard error.saysLocked, call.method == "SearchItems" else {
        return reply.send(.failure(error))
      }
      answerLater(call, reply, error)
    }
  }

  /// Answers a search of a locked store when a person has unlocked it.
  ///
  /// The names are sealed, too: an answer without items would mean that no item is like that.
  private func answerLater(_ call: DBusCall, _ reply: DBusReply, _ refusal: DBusError) {
    let isAnswered = Atomic(false)
    let done: @Sendable (Bool) -> Void = { [unowned self] isOpen in
      guard !isAnswered.exchange(true, ordering: .relaxed) else { return }
      guard isOpen else { return reply.send(.failure(refusal)) }
      do throws(DBusError) {
        reply.send(.success(try answer(call)))
      } catch {
        reply.send(.failure(error))
      }
    }
    do throws(DBusError) {
      try ask(for: call.sender, done)
      queue.asyncAfter(deadline: .now() + Self.patience) { [weak self] in
        // The client ends with the answer, and finds its terminal as it was.
        guard let self, endQuestion(of: call.sender) else { return done(false) }
        queue.asyncAfter(deadline: .now() + Self.patienceWithPinentry) { done(false) }
      }
    } catch {
      reply.send(.failure(error))
    }
  }

  /// Answers a call.
  ///
  /// - Throws: The error that is the answer.
  private func answer(_ call: DBusCall) throws(DBusError) -> [Variant] {
    guard let path = ObjectPath(call.path) else { throw .noSuchObject(call.path) }
    if call.interface == Interface.introspectable {
      guard call.method == "Introspect" else { throw .unknownMethod(call) }
      return [.string(try introspection(of: path))]
    }
    let object = try named(path)
    if call.interface == Interface.properties {
      return try answer(call, toPropertiesOf: object)
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
    case .alias, .itemOfAlias, .parent, .ancestor: throw .unknownMethod(call)
    }
  }

  /// Returns the object by the name of its collection.
  ///
  /// - Throws: `NoSuchObject` for an alias that there is not; as ``collection(ofAlias:)``.
  func named(_ object: ObjectPath) throws(DBusError) -> ObjectPath {
    switch object {
    case .alias(let alias):
      do throws(DBusError) {
        guard let name = try collection(ofAlias: alias) else { throw .noSuchObject(object.text) }
        return .collection(name)
      } catch {
        // Locked, as every collection is then, by which no client can do more than unlock it.
        guard error.saysLocked, alias == "default" else { throw error }
        return .collection(Self.defaultCollection)
      }
    case .itemOfAlias(let alias, let item):
      guard let name = try collection(ofAlias: alias) else { throw .noSuchObject(object.text) }
      return .item(ItemID(collection: name, name: item))
    default: return object
    }
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
      return [.objectPaths(try search(Attributes(arguments[0]))), .objectPaths([])]
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
      return [.objectPath(try path(ofAlias: arguments[0].text ?? ""))]
    default:
      try setAlias(arguments[0].text ?? "", to: arguments[1].objectPath ?? "")
      return []
    }
  }

  /// Returns the path of the collection that an alias means.
  ///
  /// While the aliases are not known, that of the default collection is a path with the alias.
  private func path(ofAlias alias: String) throws(DBusError) -> String {
    do throws(DBusError) {
      return try collection(ofAlias: alias).map { ObjectPath.collection($0).text }
        ?? ObjectPath.none
    } catch {
      guard error.saysLocked, alias == "default" else { throw error }
      return ObjectPath.alias(alias).text
    }
  }

  private func makeCollection(
    _ properties: [String: Variant], alias: String?
  ) throws(DBusError) -> String {
    if let alias, let name = try collection(ofAlias: alias) {
      return ObjectPath.collection(name).text
    }
    let label = try text(Interface.collection.property("Label"), in: properties)
    return try with(opened()) { keyring throws(StoreError) in
      ObjectPath.collection(try keyring.makeCollection(label: label, alias: alias)).text
    }
  }

  private func text(
    _ property: String, in properties: [String: Variant]
  ) throws(DBusError) -> String {
    guard let value = properties[property] else { return "" }
    guard let text = value.text, value.type == "s" else {
      throw .invalid("\(property) is s, not \(value.type)")
    }
    return text
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
    // Also where there is no secret to seal for it.
    try sessions.check(session, of: client)
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
    let (keyring, description) = try item(id)
    let value = try with(keyring) { keyring throws(StoreError) in
      do throws(StoreError) {
        let value = try keyring.secret(of: id)
        note(id, .success(value != nil), for: client)
        return value
      } catch {
        note(id, .failure(error), for: client)
        throw error
      }
    }
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
      _ = try openCollection(name)
      return [.objectPaths(try search(Attributes(arguments[0]), in: name))]
    case "CreateItem":
      let keyring = try openCollection(name).0
      let (value, contentType) = try sessions.open(arguments[1], of: client)
      let properties = arguments[0].entries
      let attributes = properties[Interface.item.property("Attributes")]
      guard attributes.map({ $0.type == "a{ss}" }) ?? true else {
        throw .invalid("\(Interface.item.property("Attributes")) is a{ss}")
      }
      let description = ItemDescription(
        label: ExactText(try text(Interface.item.property("Label"), in: properties)),
        attributes: attributes.map { Attributes($0) } ?? Attributes(), contentType: contentType)
      let id = try with(keyring) { keyring throws(StoreError) in
        try keyring.store(
          value, description, in: name, replaces: arguments[2].boolean ?? false)
      }
      return [.objectPath(id.path), .objectPath(ObjectPath.none)]
    default:
      try with(openCollection(name).0) { keyring throws(StoreError) in
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
      let keyring = try item(id).0
      let (value, contentType) = try sessions.open(arguments[0], of: client)
      try with(keyring) { keyring throws(StoreError) in
        try keyring.setSecret(value, contentType: contentType, of: id)
      }
      return []
    default:
      let keyring = try item(id).0
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
    case ("GetAll", "(s)"):
      do throws(DBusError) {
        return [.properties(try properties(of: object))]
      } catch {
        // libsecret 0.20 crashes without an answer: those collections that are there in any case.
        guard error.saysLocked, object == .service else { throw error }
        let names = [Self.defaultCollection, Self.transientCollection]
        return [
          .properties([
            "Collections": .objectPaths(names.map { ObjectPath.collection($0).text })
          ])
        ]
      }
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
      try with(openCollection(collection).0) { keyring throws(StoreError) in
        try keyring.setLabel(value.text ?? "", ofCollection: collection)
      }
    case .item(let id):
      let keyring = try item(id).0
      try with(keyring) { keyring throws(StoreError) in
        try keyring.change(id) { description in
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
      return [
        "Collections": .objectPaths(
          try collectionNames().map { ObjectPath.collection($0).text })
      ]
    case .collection(let name):
      let (description, isLocked) = try collection(name)
      let ids = isLocked ? [] : try keyring(of: name).ids(in: name)
      return [
        "Items": .objectPaths(ids.map(\.path)), "Label": .string(description.label.text),
        "Locked": .boolean(isLocked), "Created": .unsigned64(description.created / 1000),
        "Modified": .unsigned64(description.modified / 1000),
      ]
    case .item(let id):
      var (description, isLocked) = (ItemDescription(), false)
      do throws(DBusError) {
        description = try item(id).1
      } catch  where error.saysLocked {
        isLocked = true
      }
      return [
        "Attributes": description.attributes.variant, "Label": .string(description.label.text),
        "Locked": .boolean(isLocked), "Created": .unsigned64(description.created / 1000),
        "Modified": .unsigned64(description.modified / 1000),
      ]
    case .session(let name):
      guard sessions.names.contains(name) else { throw .noSession(object.text) }
      return [:]
    case .prompt(let name):
      guard hasPrompt(name) else { throw .noSuchObject(object.text) }
      return [:]
    default: return [:]
    }
  }

  /// Describes an object that there is, or a step on the way to some.
  private func introspection(of path: ObjectPath) throws(DBusError) -> String {
    var children: [String] = []
    switch path {
    case .service: children = ["aliases", "collection", "prompt", "session"]
    case .parent("collection"): children = try collectionNames()
    case .parent("aliases"): children = ["default"]
    case .parent("session"): children = sessions.names
    case .ancestor(let text):
      let rest = ObjectPath.root.dropFirst(text == "/" ? 1 : text.count + 1)
      children = [rest.split(separator: "/").first.map(String.init) ?? ""]
    default: break
    }
    let object = try named(path)
    if case .collection(let name) = object, try !collection(name).isLocked {
      children = try keyring(of: name).ids(in: name).map(\.name)
    } else if object.interface != nil, object != .service {
      _ = try properties(of: object)
    }
    return Interface.introspection(of: object.interface, children: children)
  }
}

extension ObjectPath {
  /// The interface of its methods; `nil` if it has none.
  fileprivate var interface: Interface? {
    switch self {
    case .service: .service
    case .collection, .alias: .collection
    case .item, .itemOfAlias: .item
    case .session: .session
    case .prompt: .prompt
    case .parent, .ancestor: nil
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
