/// An object of the service, by its path on the bus.
enum ObjectPath: Hashable {
  case service
  case collection(String)
  /// A collection by another name, such as `default`.
  case alias(String)
  case item(ItemID)
  /// An item of a collection by another name of that.
  case itemOfAlias(String, name: String)
  case session(String)
  case prompt(String)
  /// A step below the service, which has no methods.
  case parent(String)
  /// A step on the way to the service.
  case ancestor(String)

  static let root = "/org/freedesktop/secrets"

  /// The path that stands for no object.
  static let none = "/"

  /// Reads a path; `nil` if it leads to no object that there could be.
  init?(_ path: String) {
    guard path == Self.root || path.hasPrefix(Self.root + "/") else {
      guard path == "/" || (Self.root + "/").hasPrefix(path + "/") else { return nil }
      self = .ancestor(path)
      return
    }
    let steps = path.dropFirst(Self.root.count).split(
      separator: "/", omittingEmptySubsequences: false
    ).dropFirst().map(String.init)
    switch (steps.first, steps.count) {
    case (nil, _): self = .service
    case ("collection", 2): self = .collection(steps[1])
    case ("collection", 3): self = .item(ItemID(collection: steps[1], name: steps[2]))
    case ("aliases", 2): self = .alias(steps[1])
    case ("aliases", 3): self = .itemOfAlias(steps[1], name: steps[2])
    case ("session", 2): self = .session(steps[1])
    case ("prompt", 2): self = .prompt(steps[1])
    case ("collection", 1), ("aliases", 1), ("session", 1), ("prompt", 1): self = .parent(steps[0])
    default: return nil
    }
  }

  var text: String {
    let steps: [String]
    switch self {
    case .service: steps = []
    case .collection(let name): steps = ["collection", name]
    case .alias(let name): steps = ["aliases", name]
    case .item(let id): steps = ["collection", id.collection, id.name]
    case .itemOfAlias(let alias, let name): steps = ["aliases", alias, name]
    case .session(let name): steps = ["session", name]
    case .prompt(let name): steps = ["prompt", name]
    case .parent(let step): steps = [step]
    case .ancestor(let path): return path
    }
    return ([Self.root] + steps).joined(separator: "/")
  }
}

/// The place of an item, which never changes.
struct ItemID: Hashable {
  let collection: String
  /// The last step of its path.
  let name: String

  var path: String { ObjectPath.item(self).text }
}

extension String {
  /// Whether it can be a step of a path on a bus.
  var isPathStep: Bool {
    !isEmpty
      && utf8.allSatisfy { byte in
        byte == UInt8(ascii: "_") || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
          || UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
      }
  }

  /// The step of a path for a text: all but letters and digits of ASCII as `_` and two digits.
  ///
  /// gnome-keyring does the same, and clients read the label from the path of a collection
  /// (99designs/keyring).
  var asPathStep: String {
    utf8.map { byte in
      let character = String(UnicodeScalar(byte))
      if byte != UInt8(ascii: "_"), character.isPathStep { return character }
      return "_" + String(Int(byte) | 0x100, radix: 16).suffix(2)
    }.joined()
  }
}
