import SecretServiceStore
import SessionToolsBase

/// The attributes of a credential as git exchanges them with its helpers: lines of `NAME=VALUE`, up
/// to an empty line or the end (git-credential(1)).
struct GitAttributes {
  private var values: [String: SecretBytes] = [:]
  /// What the other side said that it can do: the values of `capability[]`.
  private(set) var capabilities: Set<String> = []

  /// Reads lines; of several with one name, the last counts, and lines without a name are ignored,
  /// as later versions of git may write others.
  init(lines: SecretBytes) {
    let buffer = ByteBuffer(byteCount: lines.byteCount, isSecret: true)
    buffer.copy(lines, to: 0)
    var start = 0
    while start < buffer.byteCount {
      let end = buffer.position(of: UInt8(ascii: "\n"), in: start..<buffer.byteCount)
      guard end > start else { break }
      let equals = buffer.position(of: UInt8(ascii: "="), in: start..<end)
      if equals < end, let name = buffer.text(start..<equals) {
        add(name, buffer.secret(equals + 1..<end))
      }
      start = end + 1
    }
  }

  private mutating func add(_ name: String, _ value: SecretBytes) {
    guard name == "capability[]" else {
      values[name] = value
      return
    }
    // An empty value takes back those before it.
    if value.isEmpty {
      capabilities = []
    } else if let capability = value.copyText() {
      capabilities.insert(capability)
    }
  }

  /// The value of an attribute, if it was given.
  subscript(name: String) -> SecretBytes? { values[name] }

  /// Returns the value of an attribute as text.
  ///
  /// - Throws: A usage failure if it is not UTF-8.
  func text(_ name: String) throws -> String? {
    guard let value = values[name] else { return nil }
    guard let text = value.copyText() else {
      throw Failure(.usage, "git: the \(name) of the credential is not UTF-8")
    }
    return text
  }

  /// Returns the name of the credential; `nil` if it has no protocol, or neither a host nor a path.
  ///
  /// - Throws: A usage failure if a part of it is not UTF-8, or cannot be a part of a name.
  func name() throws -> GitItemName? {
    guard let scheme = try text("protocol"), let host = try text("host") else { return nil }
    let name = GitItemName(
      scheme: scheme, user: try text("username"), host: host, path: try text("path"))
    guard !host.isEmpty || name.path != nil else { return nil }
    guard name.isUnambiguous else {
      throw Failure(.usage, "git: there can be no credential for \(name.identifier)")
    }
    return name
  }
}

/// A credential as the value of an item.
extension GitAttributes {
  /// What is stored beside the password, in this order.
  ///
  /// The first two are those of `git-credential-libsecret` since git 2.41, whose form this is.
  private static let storedNames = [
    "password_expiry_utc", "oauth_refresh_token", "authtype", "credential",
  ]

  /// Reads the value of an item: the password, and lines of other attributes.
  init(stored value: SecretBytes) {
    self.init(lines: SecretBytes(joining: [SecretBytes(utf8: "password="), value]))
  }

  /// Whether there are attributes beside the password that are stored.
  var hasMoreThanPassword: Bool { Self.storedNames.contains { values[$0] != nil } }

  /// The value of the item, which ``init(stored:)`` reads.
  var stored: SecretBytes {
    let others = Self.storedNames.flatMap { name in
      values[name].map { [SecretBytes(utf8: "\n\(name)="), $0] } ?? []
    }
    return SecretBytes(joining: [values["password"] ?? SecretBytes(utf8: "")] + others)
  }

  /// Returns the lines with some of the attributes, in this order.
  func lines(_ names: [String]) -> [SecretBytes] {
    names.flatMap { name in
      values[name].map { [SecretBytes(utf8: "\(name)="), $0, SecretBytes(utf8: "\n")] } ?? []
    }
  }
}

extension ByteBuffer {
  /// Returns the position of a byte in a part, or the end of the part.
  fileprivate func position(of byte: UInt8, in range: Range<Int>) -> Int {
    range.first { load(UInt8.self, at: $0) == byte } ?? range.upperBound
  }
}
