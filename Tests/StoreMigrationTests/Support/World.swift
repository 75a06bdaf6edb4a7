import SessionToolsBase
import StoreMigration
import Synchronization

typealias Contents = [ItemName: SecretBytes]

/// Two stores and a journal that outlive processes.
struct World {
  let source = MemoryStore()
  let target = MemoryStore()
  let journal = MemoryStore()

  init(source: Contents = [:], target: Contents = [:]) {
    self.source.apply(source.map { .put($0.value, for: $0.key) })
    self.target.apply(target.map { .put($0.value, for: $0.key) })
  }

  /// Returns stores of which the source has 3,000 items, which are three batches.
  static func large() throws -> World {
    let names = (0..<3000).map(String.init)
    return World(source: try items(Dictionary(uniqueKeysWithValues: names.map { ($0, "value") })))
  }

  /// Returns a migration in a process of its own.
  func migration(
    _ options: MigrationOptions = MigrationOptions(), _ life: Life = Life(),
    isAtomic: Bool = true, transform: Migration.Transform? = nil
  ) -> Migration {
    Migration(
      from: StoppingStore(source, life, isAtomic: isAtomic),
      to: StoppingStore(target, life, isAtomic: isAtomic),
      journal: StoppingStore(journal, life), options: options, transform: transform)
  }

  var contents: [Contents] { [source.contents, target.contents] }
}

extension MemoryStore {
  var contents: Contents {
    Dictionary(
      uniqueKeysWithValues: names(in: nil).compactMap { name in
        value(for: name).map { (name, $0) }
      })
  }
}

extension MigrationReport {
  /// The items with their outcomes, in their order.
  var entries: [Entry] {
    get throws {
      var entries: [Entry] = []
      try forEachEntry { entries.append($0) }
      return entries
    }
  }
}

extension Migration.UndoReport {
  /// The names in the target of the items that were left.
  var left: [ItemName] {
    get throws {
      var left: [ItemName] = []
      try forEachLeftItem { name, _ in left.append(name) }
      return left
    }
  }
}

func name(_ identifier: String, in namespace: StoreNamespace = "mail") throws(StoreError)
  -> ItemName
{
  try ItemName(identifier, in: namespace)
}

func items(_ texts: [String: String], in namespace: StoreNamespace = "mail") throws -> Contents {
  var items: Contents = [:]
  for (identifier, text) in texts {
    items[try name(identifier, in: namespace)] = SecretBytes(utf8: text)
  }
  return items
}

/// Returns a word for the error of a migration.
func failure(of body: () throws -> some Any) -> String? {
  do {
    _ = try body()
    return nil
  } catch MigrationError.conflicts {
    return "conflicts"
  } catch MigrationError.weakerProtection {
    return "weaker"
  } catch MigrationError.notClosed {
    return "not closed"
  } catch MigrationError.nothingBegun {
    return "nothing begun"
  } catch MigrationError.undone {
    return "undone"
  } catch MigrationError.notRemovable {
    return "not removable"
  } catch MigrationError.other(let difference, _, _) {
    return "other \(difference)"
  } catch MigrationError.store(let error) {
    return error.code.description
  } catch let error as StoreError {
    return error.code.description
  } catch {
    return "\(error)"
  }
}

/// What a migration reported last, and whether it is to stop.
final class Watch: Sendable {
  let last = Atomic(-1)
  let isCancelled = Atomic(false)
}
