package import StoreMigration
import Foundation
package import SecretStores

/// The XML export of KeePass 2 and KeePassXC as the source of a migration.
///
/// Every entry becomes a service, as ``ExportedEntries`` describes. The names of the database and
/// its root group are left out, as in the paths of `keepassxc-cli`. Entries in the recycle bin are
/// among them; older versions of an entry are not. Tags, the time of expiry, a URL for the browser
/// and sequences for auto-type become items too: `tags`, `expires`, `override-url`, `auto-type`.
/// References to other fields, `{REF:...}`, are kept as they are, and so are the names of fields
/// for one-time passwords other than `otp`, such as `TOTP Seed` and `TimeOtp-Secret-Base32`.
///
/// Attachments, custom data, and what a person wrote about groups and the database are reported,
/// because they are not read. So is the text of every element that is not known here to have
/// nothing of a person's. A group without entries has nothing to keep: new databases of KeePass 2
/// consist of such groups.
package enum KeePassXML {
  /// Returns the items of an export.
  ///
  /// - Parameters:
  ///   - document: The entire export.
  ///   - name: The name of the export in errors.
  /// - Returns: The items; listing them reports what is not read.
  /// - Throws: `undecodable` with the line, or with the kind of a file of another format.
  package static func items(
    _ document: SecretBytes, name: String
  ) throws(StoreError) -> ReadOnlyItems {
    let bytes = document.copyBytes()
    try DocumentKind(of: bytes).check(is: .keePassXML, name: name)
    var database = KeePassDatabase(
      reader: XMLReader(bytes, name: name), entries: ExportedEntries(name, of: "KeePass"))
    try database.read()
    return database.entries.store
  }
}

/// The groups and entries of a database, in the order in which the export has them.
///
/// Both programs write the name of a group before its entries, and the values that they protect in
/// memory as plain text with `ProtectInMemory="True"`.
///
/// Source: src/format/KdbxXmlWriter.cpp and src/core/CustomData.cpp in
/// https://github.com/keepassxreboot/keepassxc, and KeePassLib/Serialization/KdbxFile.Write.cs of
/// KeePass 2, in https://github.com/dlech/KeePass2.x.
private struct KeePassDatabase {
  typealias Field = ExportedEntries.Field
  typealias Unread = ExportedEntries.Unread

  var reader: XMLReader
  var entries: ExportedEntries

  init(reader: XMLReader, entries: ExportedEntries) {
    self.reader = reader
    self.entries = entries
  }

  private static let names = [
    "UserName": "username", "Password": "password", "URL": "url", "Notes": "notes", "otp": "otp",
  ]
  /// What is left out of the database itself, in the column of names.
  private static let ownName = "the database"

  mutating func read() throws(StoreError) {
    guard case .start("KeePassFile", _) = try reader.next() else {
      throw reader.undecodable("this is not an XML export of KeePass 2 or KeePassXC")
    }
    var unread: [Unread] = []
    try readElement(but: [], &unread) { database, element, _, unread throws(StoreError) in
      switch element {
      case "Meta": try database.readMeta(&unread)
      case "Root":
        try database.readElement(
          but: ["DeletedObjects"], &unread
        ) { database, element, _, _ throws(StoreError) in
          guard element == "Group" else { return false }
          try database.readGroup(in: nil)
          return true
        }
      default: return false
      }
      return true
    }
    for unread in unread { entries.leaveOut(Self.ownName, unread) }
    // Reads what is behind the document, which must be nothing.
    while try reader.next() != nil {}
  }

  private mutating func readMeta(_ unread: inout [Unread]) throws(StoreError) {
    try readElement(
      but: [
        // The name of the whole, which every database has, as the root group has one.
        "DatabaseName", "Generator", "HeaderHash", "SettingsChanged", "DatabaseNameChanged",
        "DatabaseDescriptionChanged", "DefaultUserNameChanged", "MaintenanceHistoryDays", "Color",
        "MasterKeyChanged", "MasterKeyChangeRec", "MasterKeyChangeForce",
        "MasterKeyChangeForceOnce", "MemoryProtection", "CustomIcons", "RecycleBinEnabled",
        "RecycleBinUUID", "RecycleBinChanged", "EntryTemplatesGroup", "EntryTemplatesGroupChanged",
        "HistoryMaxItems", "HistoryMaxSize", "LastSelectedGroup", "LastTopVisibleGroup",
        // The content of attachments, which are reported with their entries.
        "Binaries",
      ], &unread
    ) { database, element, _, unread throws(StoreError) in
      switch element {
      case "CustomData": try database.readCustomData(&unread)
      default: return false
      }
      return true
    }
  }

  /// Reads a group.
  ///
  /// - Parameter path: The names of the groups that it is in; `nil` for the root group.
  /// - Throws: `undecodable` with the line.
  private mutating func readGroup(in path: [String]?) throws(StoreError) {
    var own = path ?? []
    var name = ""
    var unread: [Unread] = []
    try readElement(
      but: ["UUID", "IconID", "CustomIconUUID", "LastTopVisibleEntry", "PreviousParentGroup"],
      &unread
    ) { database, element, _, unread throws(StoreError) in
      switch element {
      case "Name":
        name = try database.reader.textToEnd()
        if let path { own = path + [name] }
      case "Entry": try database.readEntry(in: own)
      case "Group": try database.readGroup(in: own)
      case "CustomData": try database.readCustomData(&unread)
      case "Times":
        if let time = try database.readExpiry() { unread.append(Unread("expiry \(time)")) }
      default: return false
      }
      return true
    }
    let ownName = path == nil ? name : ExportedEntries.name(of: own)
    for unread in unread { entries.leaveOut(ownName, unread) }
  }

  private mutating func readEntry(in path: [String]) throws(StoreError) {
    var title = ""
    var fields: [Field] = []
    var unread: [Unread] = []
    try readElement(
      but: [
        "UUID", "IconID", "CustomIconUUID", "ForegroundColor", "BackgroundColor", "QualityCheck",
        "PreviousParentGroup", "History",
      ], &unread
    ) { database, element, _, unread throws(StoreError) in
      switch element {
      case "String":
        let field = try database.readField(&unread)
        if field.name == "Title", title.isEmpty {
          title = field.value
        } else {
          fields.append(field)
        }
      case "Tags": fields.append(Field(name: "tags", value: try database.reader.textToEnd()))
      case "OverrideURL":
        fields.append(Field(name: "override-url", value: try database.reader.textToEnd()))
      case "Times":
        if let time = try database.readExpiry() {
          fields.append(Field(name: "expires", value: time))
        }
      case "AutoType": fields += try database.readAutoType(&unread)
      case "Binary": unread.append(try database.readAttachment())
      case "CustomData": try database.readCustomData(&unread)
      default: return false
      }
      return true
    }
    entries.add(path + [title], fields, unread: unread)
  }
}

// MARK: Parts of entries and groups

extension KeePassDatabase {
  private mutating func readField(_ unread: inout [Unread]) throws(StoreError) -> Field {
    var (name, value) = ("", "")
    try readElement(but: [], &unread) { database, element, attributes, _ throws(StoreError) in
      switch element {
      case "Key": name = try database.reader.textToEnd()
      case "Value":
        guard attributes["Protected"] != "True" else {
          throw database.reader.undecodable("a value is encrypted, as in no export")
        }
        value = try database.reader.textToEnd()
      default: return false
      }
      return true
    }
    let known = Self.names[name] ?? (name == "Title" ? name : nil)
    return Field(name: known ?? name, value: value, isOwn: known == nil)
  }

  /// Reads the times of an entry or a group; returns when it expires, if it does.
  private mutating func readExpiry() throws(StoreError) -> String? {
    var (expires, time) = ("", "")
    var others: [Unread] = []
    try readElement(but: [], &others) { database, element, _, _ throws(StoreError) in
      switch element {
      case "Expires": expires = try database.reader.textToEnd()
      case "ExpiryTime": time = try database.reader.textToEnd()
      default: return false
      }
      return true
    }
    return expires.lowercased() == "true" ? Self.readable(time) : nil
  }

  /// Returns a time as ISO 8601, which version 4 of the format writes as the seconds since the year
  /// 1: a little-endian number of 8 bytes in base64.
  private static func readable(_ time: String) -> String {
    guard let bytes = Data(base64Encoded: time), bytes.count == 8 else { return time }
    let seconds = bytes.reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    let until1970 = UInt64(62_135_596_800)
    // Later than the year 9999, it is no time.
    guard until1970..<315_537_897_600 ~= seconds else { return time }
    return Date(timeIntervalSince1970: Double(seconds - until1970)).formatted(.iso8601)
  }

  private mutating func readAutoType(_ unread: inout [Unread]) throws(StoreError) -> [Field] {
    var fields: [Field] = []
    try readElement(
      but: ["DataTransferObfuscation"], &unread
    ) { database, element, _, unread throws(StoreError) in
      switch element {
      case "DefaultSequence":
        fields.append(Field(name: "auto-type", value: try database.reader.textToEnd()))
      case "Association":
        var (window, sequence) = ("", "")
        try database.readElement(but: [], &unread) { database, element, _, _ throws(StoreError) in
          switch element {
          case "Window": window = try database.reader.textToEnd()
          case "KeystrokeSequence": sequence = try database.reader.textToEnd()
          default: return false
          }
          return true
        }
        fields.append(Field(name: "auto-type \(window)", value: sequence, isOwn: true))
      default: return false
      }
      return true
    }
    return fields
  }

  private mutating func readAttachment() throws(StoreError) -> Unread {
    var name = ""
    var others: [Unread] = []
    try readElement(but: ["Value"], &others) { database, element, _, _ throws(StoreError) in
      guard element == "Key" else { return false }
      name = try database.reader.textToEnd()
      return true
    }
    return Unread("attachment \(name)", "attachments are not read")
  }

  /// What the programs note for themselves.
  private static let ownData: Set = [
    "_CREATED", "_LAST_MODIFIED", "KPXC_DECRYPTION_TIME_PREFERENCE", "KPXC_RANDOM_SLUG",
    "KPXC_PUBLIC_UUID", "KnownBad", "FDO_SECRETS_EXPOSED_GROUP",
  ]
  /// By these keys KeePassXC knows the browsers that may ask it; they are of no use elsewhere.
  private static let browserKey = "KPXC_BROWSER_"

  private mutating func readCustomData(_ unread: inout [Unread]) throws(StoreError) {
    try readElement(but: [], &unread) { database, element, _, unread throws(StoreError) in
      guard element == "Item" else { return false }
      var (name, value) = ("", "")
      try database.readElement(
        but: ["LastModificationTime"], &unread
      ) { database, element, _, _ throws(StoreError) in
        switch element {
        case "Key": name = try database.reader.textToEnd()
        case "Value": value = try database.reader.textToEnd()
        default: return false
        }
        return true
      }
      let isOwn = Self.ownData.contains(name) || name.hasPrefix(Self.browserKey)
      if !isOwn, XMLReader.isOfPerson(value) { unread.append(Unread("custom data \(name)")) }
      return true
    }
  }

  /// Reads the elements within the one that was started last, and its end.
  ///
  /// - Parameters:
  ///   - nothing: The elements that have nothing of a person's.
  ///   - unread: Receives every other element that is not read and has text.
  ///   - read: Reads one element and its end; returns `false` without reading anything for one that
  ///     it does not know.
  /// - Throws: `undecodable` with the line, and what `read` throws.
  private mutating func readElement(
    but nothing: Set<String>, _ unread: inout [Unread],
    _ read: (inout Self, String, [String: String], inout [Unread]) throws(StoreError) -> Bool
  ) throws(StoreError) {
    while true {
      switch try reader.next() {
      case .start(let element, let attributes):
        guard try !read(&self, element, attributes, &unread) else { continue }
        if nothing.contains(element) {
          try reader.skipToEnd()
        } else if try reader.hasTextToEnd(attributes) {
          unread.append(Unread(element))
        }
      case .text(let text):
        if XMLReader.isOfPerson(text) { unread.append(Unread("text")) }
      case .end, nil: return
      }
    }
  }
}

extension XMLReader {
  /// Reads the rest of the element that was started last, and returns whether there was text of a
  /// person's in it or its attributes.
  fileprivate mutating func hasTextToEnd(
    _ attributes: [String: String]
  ) throws(StoreError) -> Bool {
    var hasText = attributes.values.contains(where: Self.isOfPerson)
    var depth = 1
    while depth > 0 {
      switch try next() {
      case .start(_, let attributes):
        depth += 1
        hasText = hasText || attributes.values.contains(where: Self.isOfPerson)
      case .text(let text): hasText = hasText || Self.isOfPerson(text)
      case .end: depth -= 1
      case nil: return hasText
      }
    }
    return hasText
  }

  /// Returns whether a text is more than white space or a program's truth value.
  fileprivate static func isOfPerson(_ text: String) -> Bool {
    let text = text.trimmingCharacters(in: .whitespacesAndNewlines)
    return !["", "true", "false", "null"].contains(text.lowercased())
  }
}
