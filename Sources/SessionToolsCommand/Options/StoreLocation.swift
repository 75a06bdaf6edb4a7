import ArgumentParser
package import SecretServiceStore

/// The location of a store: a directory, with or without the kind of store before it, or a
/// collection of the desktop's keyring.
package enum StoreLocation: CustomStringConvertible {
  /// A sealed store in a directory.
  case sealed(path: String)
  /// A collection of the Secret Service.
  case secretService(SecretServiceStore.Collection)

  /// The kinds of stores, as they are written.
  package static let kinds = ["sealed:", "secret-service:"]

  package static let help =
    "The store: PATH, sealed:PATH, secret-service: or secret-service:COLLECTION."

  /// Reads `PATH`, `sealed:PATH`, `secret-service:` or `secret-service:COLLECTION`.
  ///
  /// It never depends on which files exist: the same argument names the same store everywhere. A
  /// path whose start looks like another kind of store is written with `./` or `sealed:` in front.
  ///
  /// - Throws: `ValidationError` for an unknown kind or an empty path.
  package init(_ argument: String) throws { try self.init(argument, kinds: Self.kinds) }

  /// Reads a location, where further kinds may be given.
  ///
  /// - Throws: As ``init(_:)``; the error names the given kinds.
  package init(_ argument: String, kinds: [String]) throws {
    guard let kind = Self.kind(of: argument) else {
      self = try Self.sealed(at: argument[...])
      return
    }
    let rest = argument[argument.utf8.index(after: kind.endIndex)...]
    switch kind {
    case "sealed": self = try Self.sealed(at: rest)
    case "secret-service":
      self = .secretService(rest.isEmpty ? .default : .named(String(rest)))
    default:
      throw ValidationError(
        "There is no kind of store '\(kind)'; the kinds are \(kinds.joined(separator: ", ")). For "
          + "a directory of that name, write ./\(argument) or sealed:\(argument).")
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

  /// Returns the store's directory.
  ///
  /// - Throws: A usage failure for a store without a directory.
  package func sealedPath() throws -> String {
    switch self {
    case .sealed(let path): return path
    case .secretService:
      throw Failure(
        .usage,
        "this command is for sealed stores; use set, get, list, remove, unlock, doctor, migrate, "
          + "export or import for the \(self)")
    }
  }

  /// The location as an argument names it.
  package var argument: String {
    switch self {
    case .sealed(let path): path
    case .secretService(let collection): "secret-service:\(collection.name ?? "")"
    }
  }

  package var description: String {
    switch self {
    case .sealed(let path): path
    case .secretService(let collection): collection.description
    }
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
