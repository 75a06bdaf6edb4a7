public import SecretStores

/// The items of a store that are moved, their names in the target, and how they are moved.
///
/// The options are kept in the migration's journal, so that a migration that was interrupted
/// continues as it was begun.
public struct MigrationOptions: Codable, Hashable, Sendable {
  /// The items that are moved; all by default.
  public var selection = Selection()
  /// The names of the items in the target; the same by default.
  public var mapping = Mapping()
  /// The policy for items if the target has another value under the name.
  public var conflicts = ConflictPolicy.fail
  /// Whether the items whose copies were verified are removed from the source, at the end.
  public var deletesSource = false
  /// Whether less may be needed to read the items in the target than in the source, and whether
  /// items that are removed from the source may be moved to a target that is not durable.
  public var allowsWeakerProtection = false

  /// Creates the default options.
  public init() {}
}

extension MigrationOptions {
  /// The policy for an item if the target has another value under its name.
  public enum ConflictPolicy: String, Codable, CaseIterable, Sendable {
    /// Begin nothing, and report which items these are.
    case fail
    /// Leave both as they are.
    case skip
    /// Replace the target's value with the source's; undoing restores it.
    case overwrite
    /// Add the item beside the other, under a name with a number: `token (2)`.
    case keepBoth = "keep-both"
  }

  /// A selection of items: those that meet every condition that is set.
  public struct Selection: Codable, Hashable, Sendable {
    /// Only items of this service.
    public var service: String?
    /// Only items of this access group.
    public var accessGroup: String?
    /// Only items of this installation.
    public var install: String?
    /// Only items whose identifier matches this pattern: `*` stands for any text, `?` for one
    /// character, and a character after a backslash for itself.
    public var identifierPattern: String?

    /// Selects all items.
    public init() {}

    /// Returns whether an item is selected.
    ///
    /// Names are compared byte for byte, as everywhere.
    public func contains(_ name: ItemName) -> Bool {
      let namespace = name.namespace
      return Self.isSame(namespace.service, ifGiven: service)
        && Self.isSame(namespace.accessGroup, ifGiven: accessGroup)
        && Self.isSame(namespace.install?.rawValue, ifGiven: install)
        && (identifierPattern.map { Pattern($0).matches(name.identifier) } ?? true)
    }

    /// Returns whether something that a source leaves out is of the selected items.
    ///
    /// Its part is taken for an identifier if it states none.
    func contains(_ omission: Omission) -> Bool {
      guard let name = omission.service else { return true }
      return Self.isSame(name, ifGiven: service) && accessGroup == nil && install == nil
        && (identifierPattern.map { pattern in
          (omission.identifier ?? omission.part).map { Pattern(pattern).matches($0) } ?? true
        } ?? true)
    }

    private static func isSame(_ part: String?, ifGiven wanted: String?) -> Bool {
      guard let wanted else { return true }
      return part.map { $0.utf8.elementsEqual(wanted.utf8) } ?? false
    }
  }

  /// The names of the items in the target.
  public struct Mapping: Codable, Hashable, Sendable {
    /// Another name for a service.
    public struct Rename: Codable, Hashable, Sendable {
      /// The name in the source.
      public let service: String
      /// The name in the target.
      public let newName: String

      /// States both names.
      public init(service: String, newName: String) {
        self.service = service
        self.newName = newName
      }
    }

    /// The installation that items belong to in the target.
    public enum Install: Codable, Hashable, Sendable {
      /// The items belong to the same installation.
      case keep
      /// The items belong to no installation.
      case drop
      /// The items belong to this installation: assigns them, or adopts those of an old one.
      case assign(String)
    }

    /// Services with another name in the target.
    public var renames: [Rename] = []
    /// The installation that items belong to in the target.
    public var install = Install.keep

    /// Creates a mapping that leaves all names as they are.
    public init() {}

    /// Returns the name of an item in the target.
    ///
    /// - Throws: `invalidName` when a part of it cannot be a name.
    public func target(of itemName: ItemName) throws(StoreError) -> ItemName {
      let namespace = itemName.namespace
      let rename = renames.first { $0.service.utf8.elementsEqual(namespace.service.utf8) }
      if rename == nil, install == .keep { return itemName }
      let newInstall: InstallIdentifier? =
        switch install {
        case .keep: namespace.install
        case .drop: nil
        case .assign(let name): InstallIdentifier(rawValue: name)
        }
      return itemName.moved(
        to: try StoreNamespace(
          service: rename?.newName ?? namespace.service, accessGroup: namespace.accessGroup,
          install: newInstall))
    }
  }
}

extension MigrationOptions.Selection {
  /// Returns what a source leaves out of the selected items, or has instead if none is selected.
  ///
  /// - Parameters:
  ///   - listing: The source's list.
  ///   - foundInstead: Returns what a source that lists nothing has in place of items.
  /// - Returns: What to report.
  /// - Throws: What the closure throws.
  package func omissions(
    of listing: StoreListing, orInstead foundInstead: () throws(StoreError) -> [Omission]
  ) throws(StoreError) -> [Omission] {
    let omissions = listing.omissions.filter { contains($0) }
    guard !listing.names.contains(where: { contains($0) }) else { return omissions }
    let others = listing.names.filter { !$0.isReserved }
    if let missed = missed(others.count, listing.omissions.count, such: others.first) {
      return omissions + [missed]
    }
    guard omissions.isEmpty, listing.damage == nil else { return omissions }
    return try foundInstead()
  }

  /// Returns a report that nothing is selected although a source has items; `nil` if it has none,
  /// or everything is selected.
  func missed(_ itemCount: Int, _ omissionCount: Int, such example: ItemName?) -> Omission? {
    guard itemCount + omissionCount > 0, self != MigrationOptions.Selection() else { return nil }
    let items =
      itemCount == 0
      ? "only what is left out" : "\(itemCount) \(itemCount == 1 ? "item" : "items")"
    let such = example.map { ", such as \($0)" } ?? ""
    return Omission(
      text, reason: "nothing in the source matches this, and it has \(items)\(such)")
  }

  /// Which items these are, in words; two selections with the same words are the same.
  var text: String {
    let parts = [
      service.map { "service \($0.debugDescription)" },
      accessGroup.map { "access group \($0.debugDescription)" },
      install.map { "installation \($0.debugDescription)" },
      identifierPattern.map { "identifier \($0.debugDescription)" },
    ].compactMap(\.self)
    return parts.isEmpty ? "all items" : parts.joined(separator: ", ")
  }
}

extension MigrationOptions.Mapping {
  /// Which names the items get, in words; two mappings with the same words are the same.
  var text: String {
    var parts = renames.map {
      "service \($0.service.debugDescription) as \($0.newName.debugDescription)"
    }
    switch install {
    case .keep: break
    case .drop: parts.append("no installation")
    case .assign(let name): parts.append("installation \(name.debugDescription)")
    }
    return parts.isEmpty ? "the same names" : parts.joined(separator: ", ")
  }
}

/// A shell pattern without brackets.
struct Pattern {
  private enum Part {
    case one(Character)
    case anyOne
    case any
  }

  private var parts: [Part] = []

  init(_ text: String) {
    var rest = Array(text)[...]
    while let character = rest.popFirst() {
      switch character {
      case "*": parts.append(.any)
      case "?": parts.append(.anyOne)
      case "\\": parts.append(.one(rest.popFirst() ?? "\\"))
      default: parts.append(.one(character))
      }
    }
  }

  func matches(_ text: String) -> Bool {
    // The parts that may come next, after each character.
    var places: Set = [0]
    for character in text {
      places = Set(
        afterStars(of: places).flatMap { place -> [Int] in
          guard place < parts.count else { return [] }
          switch parts[place] {
          case .any: return [place]
          case .anyOne: return [place + 1]
          case .one(let wanted): return isSame(wanted, character) ? [place + 1] : []
          }
        })
    }
    return afterStars(of: places).contains(parts.count)
  }

  /// Returns the places and those after stars, because a star may stand for nothing.
  private func afterStars(of places: Set<Int>) -> Set<Int> {
    var all = places
    for var place in places {
      while place < parts.count, case .any = parts[place] {
        place += 1
        all.insert(place)
      }
    }
    return all
  }

  private func isSame(_ left: Character, _ right: Character) -> Bool {
    left.utf8.elementsEqual(right.utf8)
  }
}
