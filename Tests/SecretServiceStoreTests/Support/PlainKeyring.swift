import BusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase

/// A keyring of gnome-keyring's that has no password, as a file.
///
/// The way to have thousands of items in no time: gnome-keyring writes all of its file for each.
enum PlainKeyring {
  /// Writes one as the default collection, before the first gnome-keyring starts.
  static func write(
    _ items: [StoreKey: SecretBytes], label: String = "plain", on bus: PrivateBus
  ) throws {
    let directory = bus["data/keyrings"]
    try FileManager.default.createDirectory(
      atPath: directory, withIntermediateDirectories: false,
      attributes: [.posixPermissions: 0o700])
    try "plain".write(toFile: "\(directory)/default", atomically: true, encoding: .utf8)
    var text = """
      [keyring]
      display-name=\(label)
      ctime=0
      mtime=0
      lock-on-idle=false
      lock-after=false


      """
    for (position, (key, value)) in items.enumerated() {
      text += group(position + 1, key, value)
    }
    try text.write(toFile: "\(directory)/plain.keyring", atomically: true, encoding: .utf8)
  }

  /// An item as the store makes it; the names must need no escapes in the file.
  private static func group(_ number: Int, _ key: StoreKey, _ value: SecretBytes) -> String {
    let line = ItemLine.encode(value, for: key)
    var text = """
      [\(number)]
      item-type=0
      display-name=\(key.namespace.service): \(key.identifier)
      secret=\(String(decoding: line.bytes(0..<line.byteCount), as: UTF8.self))
      mtime=1
      ctime=1


      """
    let attributes = ItemAttributes.all(of: key, size: ItemAttributes.Size(of: value))
    for (position, (name, value)) in attributes.sorted(by: { $0.key < $1.key }).enumerated() {
      text += """
        [\(number):attribute\(position)]
        name=\(name)
        type=string
        value=\(value)


        """
    }
    return text
  }
}
