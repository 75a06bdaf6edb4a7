import Crypto
import FoundationEssentials

/// A file per item, in one directory; the name of the file is the identifier.
struct ItemFiles: ~Copyable {
  private let cipher: Cipher
  private let directory: OpenFile

  /// Opens the store in a directory, and creates it first if necessary.
  init(_ path: String, _ algorithm: Algorithm) throws(Failure) {
    try OpenFile.workingDirectory.makeDirectory(path)
    let key = try Self.key(path + "/key")
    let parent = try OpenFile.workingDirectory.open(path, .directory)
    try parent.makeDirectory("items")
    directory = try parent.open("items", .directory)
    cipher = Cipher(algorithm: algorithm, key: key)
  }

  /// Puts an item, which is durable when this returns.
  func put(_ item: Item) throws(Failure) {
    try write(item, isDurable: true)
    try directory.synchronize()
  }

  /// Puts items, which are all durable when this returns.
  func putAll(_ items: [Item]) throws(Failure) {
    for item in items { try write(item, isDurable: false) }
    try directory.synchronizeFileSystem()
  }

  /// Returns the value of an item.
  ///
  /// - Throws: `lost` if the item does not exist or its file was changed.
  func get(_ identifier: String) throws(Failure) -> Data {
    guard let file = try directory.openIfPresent(identifier) else {
      throw .lost(identifier: identifier)
    }
    // One byte more than expected, to detect a longer file.
    let sealed = try file.read(atMost: Cipher.sealedByteCount + 1)
    guard sealed.count == Cipher.sealedByteCount else { throw .lost(identifier: identifier) }
    return try cipher.open(sealed, for: identifier)
  }

  /// Returns the identifiers of all items.
  func identifiers() throws(Failure) -> [String] {
    try directory.visibleNames()
  }

  /// Removes an existing item; the removal is durable when this returns.
  func remove(_ identifier: String) throws(Failure) {
    try directory.remove(identifier)
    try directory.synchronize()
  }

  private func write(_ item: Item, isDurable: Bool) throws(Failure) {
    let sealed = try cipher.seal(item.value, for: item.identifier)
    let temporary = ".\(item.identifier).new"
    let file = try directory.open(temporary, .replace)
    try file.write(sealed)
    if isDurable { try file.synchronize() }
    try file.close()
    try directory.rename(temporary, to: item.identifier)
  }

  /// Reads the key, and creates it first if necessary.
  private static func key(_ path: String) throws(Failure) -> SymmetricKey {
    let size = SymmetricKeySize.bits256
    if let file = try OpenFile.workingDirectory.openIfPresent(path) {
      let key = SymmetricKey(data: try file.read(atMost: size.bitCount / 8))
      guard key.bitCount == size.bitCount else { throw .failed(path, reason: "key too short") }
      return key
    }
    let key = SymmetricKey(size: size)
    let file = try OpenFile.workingDirectory.open(path, .create)
    try file.write(key)
    try file.synchronize()
    try file.close()
    return key
  }
}
