import ArgumentParser
package import SessionToolsFuzzTargets
import SecretServiceStore
import SessionToolsBase
import StoreMigration
import SessionToolsCommand
import WebLogin

extension FuzzTarget {
  /// The targets for input that people type, browsers send or other programs have written.
  package static let program = [
    FuzzTarget("location", maximumByteCount: 256, check: LocationTarget.check),
    FuzzTarget("arguments", maximumByteCount: 512, check: ArgumentsTarget.check),
    FuzzTarget("callback", maximumByteCount: 2048, check: CallbackTarget.check),
    FuzzTarget("identity-token", maximumByteCount: 2048, check: IdentityTokenTarget.check),
    FuzzTarget(
      "keyring-file", maximumByteCount: 2048, check: ExportTarget(parse: KeyringFile.items).check),
    FuzzTarget(
      "keepass-csv", maximumByteCount: 2048, check: ExportTarget(parse: KeePassCSV.items).check),
    FuzzTarget(
      "keepass-xml", maximumByteCount: 4096, check: ExportTarget(parse: KeePassXML.items).check),
    FuzzTarget(
      "bitwarden", maximumByteCount: 4096, check: ExportTarget(parse: BitwardenExport.items).check),
    FuzzTarget(
      "browser-csv", maximumByteCount: 2048, check: ExportTarget(parse: BrowserCSV.items).check),
    FuzzTarget(
      "aws-credentials", maximumByteCount: 2048,
      check: ExportTarget(parse: AWSCredentials.items).check),
    FuzzTarget("netrc", maximumByteCount: 2048, check: ExportTarget(parse: Netrc.items).check),
    FuzzTarget(
      "gh-hosts", maximumByteCount: 2048, check: ExportTarget(parse: GitHubHosts.items).check),
  ]
}

/// The argument that names a store.
///
/// It is `PATH`, `sealed:PATH`, or `secret-service:` with or without a collection.
enum LocationTarget {
  static func check(_ bytes: [UInt8]) throws {
    let text = String(decoding: bytes, as: UTF8.self)
    let location: StoreLocation
    do {
      location = try StoreLocation(text)
    } catch let error as ValidationError {
      return try require(
        isRefused(text) && !error.message.isEmpty, "\(text) is refused: \(error.message)")
    }
    try require(!isRefused(text), "\(text) is accepted as \(location)")
    let path: String
    switch location {
    case .sealed(let given): path = given
    case .secretService(let collection):
      let name = text.utf8.dropFirst("secret-service:".utf8.count)
      return try require(
        text.utf8.starts(with: "secret-service:".utf8)
          && name.elementsEqual((collection.name ?? "").utf8), "\(text) is parsed as \(location)")
    case .database(let address):
      return try require(
        address == text && text.utf8.starts(with: "postgres".utf8),
        "\(text) is parsed as \(location)")
    }
    try require(!path.isEmpty, "an empty path")
    try require(path.utf8.count == 1 || path.utf8.last != 0x2F, "\(path) ends with a slash")
    let rest = text.utf8.starts(with: "sealed:".utf8) ? text.utf8.dropFirst(7) : text.utf8[...]
    try require(rest.starts(with: path.utf8), "\(path) is not the path in \(text)")
    try require(
      rest.dropFirst(path.utf8.count).allSatisfy { $0 == 0x2F }, "\(text) lost more than slashes")
    let again = try StoreLocation("sealed:" + path)
    try require(
      "\(again)".utf8.elementsEqual(path.utf8), "\(path) becomes \(again) when parsed again")
  }

  /// Returns whether the text begins with an unknown kind of store or as libpq's other form of an
  /// address, or has no path.
  private static func isRefused(_ text: String) -> Bool {
    let utf8 = Array(text.utf8)
    let keywords = ["host", "hostaddr", "port", "dbname", "user", "password", "service", "sslmode"]
    if keywords.contains(where: { utf8.starts(with: "\($0)=".utf8) }) { return true }
    guard let colon = utf8.firstIndex(of: 0x3A) else { return utf8.isEmpty }
    let kind = String(decoding: utf8[..<colon], as: UTF8.self)
    let letters = Set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
    let others = letters.union("0123456789+-.".utf8)
    let isKind = letters.contains(utf8[0]) && utf8[..<colon].allSatisfy(others.contains)
    switch kind {
    case "secret-service": return false
    case "postgresql", "postgres": return !utf8[(colon + 1)...].starts(with: "//".utf8)
    case "sealed": return colon == utf8.count - 1
    default: return isKind
    }
  }
}

/// A command line, its arguments separated by newlines.
enum ArgumentsTarget {
  static func check(_ bytes: [UInt8]) throws {
    let arguments = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
    do {
      let command = try RootCommand.parseAsRoot(arguments)
      // The same arguments must give the same command again.
      let again = try RootCommand.parseAsRoot(arguments)
      try require("\(type(of: command))" == "\(type(of: again))", "a different command this time")
    } catch let finding as Finding {
      throw finding
    } catch {
      let code = RootCommand.exitCode(for: error)
      try require(
        code == .success || code == .validationFailure, "\(arguments) ends with \(code)")
      try require(!RootCommand.fullMessage(for: error).isEmpty, "\(arguments) gets no message")
    }
  }
}

/// A request that a browser, or any program on the machine, sends to the port of a login.
enum CallbackTarget {
  static func check(_ bytes: [UInt8]) throws {
    let request: LoopbackRequest
    do {
      request = try LoopbackRequest(bytes)
    } catch {
      return
    }
    try require(bytes.count <= LoopbackRequest.maximumByteCount, "the request is too long")
    try require(bytes.suffix(4).elementsEqual([13, 10, 13, 10]), "the request has no end")
    try require(
      request.method.utf8.allSatisfy { (0x41...0x5A).contains($0) }, "not a method")
    try require(request.path.hasPrefix("/") && !request.path.contains("?"), "no path")
    for part in [request.path, request.query, request.host] {
      try require(
        part.utf8.allSatisfy { $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }, "a control character")
    }
    let fields = Form.decode(request.query)
    let again = Form.encode(fields.map { (name: $0.key, value: $0.value) })
    try require(
      fields.isEmpty || Form.decode(again) == fields, "\(request.query) changes when encoded")
    try require(
      again.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }, "\(again) has characters not valid in a URL"
    )
  }
}

/// A file that another program is said to have written.
///
/// It is refused with a position, or its items have valid names and values, which are the same when
/// it is read again.
struct ExportTarget: Sendable {
  let parse: @Sendable (SecretBytes, String) throws(StoreError) -> ReadOnlyItems

  func check(_ bytes: [UInt8]) throws {
    let (first, again) = (contents(bytes), contents(bytes))
    switch (first, again) {
    case (.failure(let error), .failure(let other)):
      try require("\(error)" == "\(other)", "\(error), and then \(other)")
      try require(error.store.hasPrefix("file"), "\(error) does not name the file")
      try require(
        [StoreError.undecodable, StoreError.invalidName, StoreError.alreadyExists]
          .contains(error.code), "\(error) has another code")
    case (.success(let items), .success(let others)):
      try require(items == others, "the items differ when they are read again")
      try require(items.count <= bytes.count, "there are more items than bytes")
    default: throw Finding("the file is read only sometimes")
    }
  }

  private func contents(_ bytes: [UInt8]) -> Result<[ItemName: SecretBytes], StoreError> {
    Result { () throws(StoreError) in
      let store = try parse(SecretBytes(bytes), "file")
      var items: [ItemName: SecretBytes] = [:]
      for name in try store.listing().names { items[name] = try store.value(for: name) }
      return items
    }
  }
}
