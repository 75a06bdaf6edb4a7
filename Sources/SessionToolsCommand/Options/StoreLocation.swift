import ArgumentParser
import Foundation
package import SecretServiceStore

/// The location of a store: a directory, with or without the kind of store before it, a collection
/// of the desktop's keyring, or a database.
package enum StoreLocation: CustomStringConvertible {
  /// A sealed store in a directory.
  case sealed(path: String)
  /// A collection of the Secret Service.
  case secretService(SecretServiceStore.Collection)
  /// A sealed store in a database, by the database's address.
  case database(address: String)

  /// The kinds of stores, as they are written.
  static let kinds = ["sealed:", "secret-service:", "postgresql:"]

  /// Returns whether a word is certainly a store by its form, whatever files there are.
  static func isStore(_ word: String) -> Bool {
    [".", ".."].contains(word)
      || (["/", "./", "../", "~/", "postgres:"] + kinds).contains(where: word.hasPrefix)
  }

  /// What a connection string of libpq in its other form may begin with.
  private static let keywords = [
    "host", "hostaddr", "port", "dbname", "user", "password", "service", "sslmode",
  ]

  static let help =
    "The store: PATH, sealed:PATH, secret-service:, secret-service:COLLECTION, or "
    + "postgresql://USER@HOST/DATABASE."

  /// Reads `PATH`, `sealed:PATH`, `secret-service:`, `secret-service:COLLECTION` or
  /// `postgresql://…`.
  ///
  /// It never depends on which files exist: the same argument names the same store everywhere. A
  /// path whose start looks like another kind of store is written with `./` or `sealed:` in front.
  ///
  /// - Throws: `ValidationError` for an unknown kind or an empty path.
  package init(_ argument: String) throws { try self.init(argument, kinds: Self.kinds) }

  /// Reads a location, where further kinds may be given.
  ///
  /// - Throws: As ``init(_:)``; the error names the given kinds.
  init(_ argument: String, kinds: [String]) throws {
    if Self.keywords.contains(where: { argument.hasPrefix("\($0)=") }) {
      throw ValidationError("Write the address of a database as postgresql://USER@HOST/DATABASE.")
    }
    guard let kind = Self.kind(of: argument) else {
      self = try Self.sealed(at: argument[...])
      return
    }
    let rest = argument[argument.utf8.index(after: kind.endIndex)...]
    switch kind {
    case "sealed": self = try Self.sealed(at: rest)
    case "secret-service":
      self = .secretService(rest.isEmpty ? .default : .named(String(rest)))
    case "postgresql", "postgres":
      guard rest.hasPrefix("//") else {
        throw ValidationError("Write \(kind)://USER@HOST/DATABASE.")
      }
      self = .database(address: argument)
    default:
      throw ValidationError(
        "There is no kind of store '\(kind)'; the kinds are \(kinds.joined(separator: ", ")). For "
          + "a directory of that name, write ./ or sealed: before it.")
    }
  }

  private static func sealed(at path: Substring) throws -> StoreLocation {
    var path = path
    // With a slash at the end, the kernel would follow a symbolic link.
    while path.utf8.count > 1, path.utf8.last == UInt8(ascii: "/") {
      path = Substring(path.utf8.dropLast())
    }
    guard !path.isEmpty else { throw ValidationError("The path of the store is empty.") }
    return .sealed(path: String(path))
  }

  var isInDatabase: Bool {
    if case .database = self { true } else { false }
  }

  /// Returns the store's directory.
  ///
  /// - Parameter advice: What to do instead for a store in a database.
  /// - Returns: The path.
  /// - Throws: A usage failure for a store without a directory.
  func sealedPath(forDatabase advice: String) throws -> String {
    switch self {
    case .sealed(let path): return path
    case .secretService: throw notSealed
    case .database:
      throw Failure(.usage, "this command is for stores in a directory; \(advice)")
    }
  }

  /// Reads the directory of a sealed store.
  ///
  /// - Parameter argument: `PATH` or `sealed:PATH`.
  /// - Returns: The path.
  /// - Throws: `ValidationError` for a store of another kind.
  static func directory(_ argument: String) throws -> String {
    guard case .sealed(let path) = try StoreLocation(argument) else {
      throw ValidationError("Name a sealed store in a directory.")
    }
    return path
  }

  /// The failure of a command that is for sealed stores.
  var notSealed: Failure {
    Failure(
      .usage,
      "this command is for sealed stores; use set, get, list, remove, unlock, doctor, migrate, "
        + "export or import for the \(self)")
  }

  /// The location as an argument names it.
  var argument: String {
    switch self {
    case .sealed(let path): path
    case .secretService(let collection): "secret-service:\(collection.name ?? "")"
    case .database(let address): address
    }
  }

  /// The location as it means the same in every directory.
  var absolute: StoreLocation {
    if case .sealed(let path) = self { .sealed(path: URL(filePath: path).path) } else { self }
  }

  package var description: String {
    switch self {
    case .sealed(let path): path
    case .secretService(let collection): collection.description
    case .database(let address): Self.shown(address)
    }
  }

  /// Returns a database's address without parameters and what may be a password: the error that
  /// refuses one is shown, too.
  private static func shown(_ address: String) -> String {
    var shown = address
    // First of all: a ? may be part of the password.
    if let start = shown.firstRange(of: "//")?.upperBound, let at = shown.lastIndex(of: "@"),
      start < at, let colon = shown[start..<at].firstIndex(of: ":")
    {
      shown.removeSubrange(colon..<at)
    }
    return String(shown.prefix { $0 != "?" })
  }

  /// Returns the part before the first colon, if it has the form of a URI's scheme (RFC 3986).
  private static func kind(of argument: String) -> Substring? {
    // By bytes, as the kernel reads paths: a colon followed by a combining accent is another
    // `Character`.
    guard let colon = argument.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
    let kind = argument[..<colon]
    guard let first = kind.utf8.first, isLetter(first) else { return nil }
    let isScheme = kind.utf8.allSatisfy { byte in
      isLetter(byte) || UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
        || "+-.".utf8.contains(byte)
    }
    return isScheme ? kind : nil
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20
  }
}
