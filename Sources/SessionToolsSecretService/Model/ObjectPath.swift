/// An object of the service, by its path on the bus.
enum ObjectPath: Hashable {
  case service
  case collection(String)
  /// A collection by another name, such as `default`.
  case alias(String)
  case item(ItemID)
  case session(String)
  case prompt(String)
  /// A step on the way to others, which has no methods.
  case parent([String])

  static let root = "/org/freedesktop/secrets"

  /// The path that stands for no object.
  static let none = "/"

  /// Reads a path; `nil` if it leads to no object that there could be.
  init?(_ path: String) {
    guard path.hasPrefix(Self.root) else { return nil }
    let steps = path.dropFirst(Self.root.count).split(
      separator: "/", omittingEmptySubsequences: false
    ).dropFirst().map(String.init)
    switch (steps.first, steps.count) {
    case (nil, _): self = .service
    case ("collection", 2): self = .collection(steps[1])
    case ("collection", 3): self = .item(ItemID(collection: steps[1], name: steps[2]))
    case ("aliases", 2): self = .alias(steps[1])
    case ("session", 2): self = .session(steps[1])
    case ("prompt", 2): self = .prompt(steps[1])
    case ("collection", 1), ("aliases", 1), ("session", 1), ("prompt", 1): self = .parent(steps)
    default: return nil
    }
  }

  var text: String {
    let steps: [String] =
      switch self {
      case .service: []
      case .collection(let name): ["collection", name]
      case .alias(let name): ["aliases", name]
      case .item(let id): ["collection", id.collection, id.name]
      case .session(let name): ["session", name]
      case .prompt(let name): ["prompt", name]
      case .parent(let steps): steps
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

  /// Returns a step of a path that reminds of this text.
  var asPathStep: String {
    let step = lowercased().utf8.prefix(64).map { byte in
      String(UnicodeScalar(byte)).isPathStep ? String(UnicodeScalar(byte)) : "_"
    }.joined()
    return step.isEmpty ? "_" : step
  }
}
