import StoreMigration
import SecretStores

/// The items that the entries of a password manager's export become.
///
/// An entry becomes a service, whose name is the names of its groups and its title, joined by
/// slashes. Each field that is not empty becomes an item of the service, whose identifier is the
/// name of the field: `password`, `username`, `url`, `notes`, `otp`, or the name that a person gave
/// it. A name that an earlier entry or field has gets a number: `Mail (2)`. The order of the export
/// decides, so the names are the same whenever it is read. An entry of which only the name is known
/// becomes one item without a value.
///
/// What does not become an item is left out by name, so that nothing is lost silently.
struct ExportedEntries {
  /// A field of an entry.
  struct Field {
    let name: String
    let value: String
    /// Whether a person made the field, so that its name counts even without a value.
    var isOwn = false
  }

  /// A part of an entry that is not read.
  struct Unread {
    let part: String
    let reason: String

    /// Describes a part that has to be copied by hand.
    init(_ part: String, _ reason: String = "it is not read") {
      self.part = part
      self.reason = "\(reason); copy it by hand"
    }
  }

  private let name: String
  private let protection: String
  private var items: [ItemName: SecretBytes] = [:]
  private var services = DistinctNames()
  private var omissions: [Omission] = []

  /// - Parameters:
  ///   - name: The name of the export in errors.
  ///   - program: The program that wrote it.
  init(_ name: String, of program: String) {
    self.name = name
    protection = "plain text, an export of \(program)"
  }

  /// The items; listing them reports what was left out.
  var store: ReadOnlyItems {
    ReadOnlyItems(name: name, protection: protection, items: items, omissions: omissions)
  }

  /// Adds an entry.
  ///
  /// If its own name is not valid, all of it is left out; otherwise only fields whose names are not
  /// valid are.
  ///
  /// - Parameters:
  ///   - path: The names of its groups and its title; empty ones are skipped.
  ///   - fields: Its fields.
  ///   - unread: Its other parts.
  mutating func add(_ path: [String], _ fields: [Field], unread: [Unread] = []) {
    let service = services.name(for: Self.name(of: path))
    do throws(StoreError) {
      let namespace = try StoreNamespace(service: service)
      var identifiers = DistinctNames()
      for field in Self.kept(fields) {
        let identifier = identifiers.name(for: field.name.isEmpty ? "field" : field.name)
        do throws(StoreError) {
          items[try ItemName(identifier, in: namespace)] = SecretBytes(utf8: field.value)
        } catch {
          leaveOut(service, Unread(identifier, error.reason))
        }
      }
      for unread in unread { leaveOut(service, unread) }
    } catch {
      omissions.append(
        Omission(
          service, reason: "\(error.reason); give the entry another name, and export it again",
          service: service))
    }
  }

  /// Records that a part of something is not among the items.
  mutating func leaveOut(_ name: String, _ unread: Unread) {
    omissions.append(
      Omission(name, part: unread.part, reason: unread.reason, service: name))
  }

  /// Returns the name of a group or an entry.
  static func name(of path: [String]) -> String {
    let path = path.filter { !$0.isEmpty }
    return path.isEmpty ? "untitled" : path.joined(separator: "/")
  }

  /// Returns the fields that become items: at least one, which may be empty.
  private static func kept(_ fields: [Field]) -> [Field] {
    let kept = fields.filter { !$0.value.isEmpty || $0.isOwn }
    guard kept.isEmpty else { return kept }
    return [
      fields.first { $0.name == "password" } ?? fields.first ?? Field(name: "password", value: "")
    ]
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
