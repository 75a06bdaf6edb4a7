public import SessionToolsBase

/// What of a store is moved, under which names, and how.
///
/// All of it is kept in the migration's journal, so that one that was cut short goes on as it was
/// begun.
public struct MigrationOptions: Codable, Hashable, Sendable {
  /// Which items are moved; all unless this is changed.
  public var selection = MigrationSelection()
  /// Under which names; the same unless this is changed.
  public var mapping = MigrationMapping()
  /// What to do where the target has another value under the name.
  public var conflicts = MigrationConflictPolicy.fail
  /// Whether the items are removed from the source, after all of them were verified.
  public var deletesSource = false
  /// Whether items may get to where less is needed to read them than before, or, when they are
  /// removed from the source, to where they do not stay.
  public var allowsWeakerProtection = false

  /// The options unless they are changed.
  public init() {}
}

/// What to do with an item where the target has another value under its name.
public enum MigrationConflictPolicy: String, Codable, CaseIterable, Sendable {
  /// Begin nothing, and say which items these are.
  case fail
  /// Leave both as they are.
  case skip
  /// Put the source's value in the place of the target's, which undoing brings back.
  case overwrite
  /// Put the item beside the other one, under a name with a number: `token (2)`.
  case keepBoth = "keep-both"
}

/// Which items are moved: those that meet all that is given.
public struct MigrationSelection: Codable, Hashable, Sendable {
  /// Only items of this service.
  public var service: String?
  /// Only items of this access group.
  public var accessGroup: String?
  /// Only items of this installation.
  public var install: String?
  /// Only items whose identifier is like this: `*` stands for any text, `?` for one character,
  /// and a backslash makes the next one stand for itself.
  public var identifierPattern: String?

  /// Selects all items.
  public init() {}

  /// Whether an item is selected.
  ///
  /// Names are compared byte for byte, as everywhere.
  public func contains(_ key: StoreKey) -> Bool {
    let namespace = key.namespace
    return Self.isSame(namespace.service, ifGiven: service)
      && Self.isSame(namespace.accessGroup, ifGiven: accessGroup)
      && Self.isSame(namespace.install?.rawValue, ifGiven: install)
      && (identifierPattern.map { Pattern($0).matches(key.identifier) } ?? true)
  }

  private static func isSame(_ part: String?, ifGiven wanted: String?) -> Bool {
    guard let wanted else { return true }
    return part.map { $0.utf8.elementsEqual(wanted.utf8) } ?? false
  }
}

/// Under which names items come to the target.
public struct MigrationMapping: Codable, Hashable, Sendable {
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

  /// What becomes of the installation that items belong to.
  public enum Install: Codable, Hashable, Sendable {
    /// It stays.
    case keep
    /// The items belong to none.
    case drop
    /// The items belong to this one: assigns them, or adopts those of an old installation.
    case assign(String)
  }

  /// Services with another name in the target.
  public var renames: [Rename] = []
  /// What becomes of the installation.
  public var install = Install.keep

  /// Leaves all names as they are.
  public init() {}

  /// The name of an item in the target.
  ///
  /// - Throws: `invalidName` when a part of it cannot be a name.
  public func target(of key: StoreKey) throws(StoreError) -> StoreKey {
    let namespace = key.namespace
    let rename = renames.first { $0.service.utf8.elementsEqual(namespace.service.utf8) }
    if rename == nil, install == .keep { return key }
    let newInstall: InstallIdentifier? =
      switch install {
      case .keep: namespace.install
      case .drop: nil
      case .assign(let name): InstallIdentifier(rawValue: name)
      }
    return key.moved(
      to: try Namespace(
        service: rename?.newName ?? namespace.service, accessGroup: namespace.accessGroup,
        install: newInstall))
  }
}

/// A pattern of a shell's, without its brackets.
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
    // Which parts may come next, after each character.
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

  /// A star may stand for nothing.
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
