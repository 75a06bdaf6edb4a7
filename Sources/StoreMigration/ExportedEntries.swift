import SessionToolsBase

/// The items that the entries of a password manager's export become.
///
/// An entry becomes a service, whose name is the names of its groups and its title, joined by
/// slashes. Each field that is not empty becomes an item of the service, whose identifier is the
/// name of the field: `password`, `username`, `url`, `notes`, `otp`, or the name that a person gave
/// it. A name that an earlier entry or field has gets a number: `Mail (2)`. The order of the export
/// decides, so the names are the same whenever it is read.
struct ExportedEntries {
  /// A field of an entry.
  struct Field {
    let name: String
    let value: String
  }

  private let name: String
  private let protection: String
  private var items: [StoreKey: SecretBytes] = [:]
  private var services = DistinctNames()
  private var damage: StoreError?

  /// - Parameters:
  ///   - name: The name of the export in errors.
  ///   - program: The program that wrote it.
  init(_ name: String, of program: String) {
    self.name = name
    protection = "plain text, an export of \(program)"
  }

  /// The items; listing them reports an entry that was left out.
  var store: ReadOnlyItems {
    ReadOnlyItems(name: name, protection: protection, atRest: .nothing) { [items, damage] in
      StoreListing(keys: items.keys.sorted(), damage: damage)
    } read: { [items] key in
      items[key]
    }
  }

  /// Adds an entry; if its names are too long, the entry is left out.
  ///
  /// - Parameters:
  ///   - path: The names of its groups and its title; empty ones are skipped.
  ///   - fields: Its fields; empty ones are skipped.
  ///   - position: The position of the entry in the export, for errors.
  mutating func add(_ path: [String], _ fields: [Field], at position: String) {
    let fields = fields.filter { !$0.value.isEmpty }
    guard !fields.isEmpty else { return }
    let path = path.filter { !$0.isEmpty }
    do throws(StoreError) {
      let service = services.name(for: path.isEmpty ? "untitled" : path.joined(separator: "/"))
      let namespace = try StoreNamespace(service: service)
      var identifiers = DistinctNames()
      var added: [StoreKey: SecretBytes] = [:]
      for field in fields {
        let identifier = identifiers.name(for: field.name.isEmpty ? "field" : field.name)
        added[try StoreKey(identifier, in: namespace)] = SecretBytes(utf8: field.value)
      }
      items.merge(added) { $1 }
    } catch {
      leaveOut(error.reason, at: position)
    }
  }

  /// Records that something at a position of the export is not among the items.
  mutating func leaveOut(_ reason: String, at position: String) {
    damage = StoreError(
      .undecodable, store: "\(name), \(position)", reason: reason,
      remedy: "Copy it by hand from the program that has it")
  }
}

/// Names that differ: a name that is taken gets the first free number from 2.
private struct DistinctNames {
  private var taken: Set<String> = []
  private var numbers: [String: Int] = [:]

  mutating func name(for wanted: String) -> String {
    var name = wanted
    while !taken.insert(name).inserted {
      let number = numbers[wanted, default: 1] + 1
      numbers[wanted] = number
      name = "\(wanted) (\(number))"
    }
    return name
  }
}
