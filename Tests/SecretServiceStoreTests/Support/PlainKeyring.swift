import SessionToolsBusTestSupport
import Foundation
import SecretServiceStore
import SessionToolsBase

/// A file of gnome-keyring for a keyring without a password.
///
/// It is a fast way to thousands of items: gnome-keyring rewrites its whole file for each item.
enum PlainKeyring {
  /// Writes the file as the default collection, before gnome-keyring first starts.
  static func write(
    _ items: [ItemName: SecretBytes], label: String = "plain", on bus: PrivateBus
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
    for (position, (name, value)) in items.enumerated() {
      text += group(position + 1, name, value)
    }
    try text.write(toFile: "\(directory)/plain.keyring", atomically: true, encoding: .utf8)
  }

  /// Returns an item as the store writes it; its names must need no escapes in the file.
  private static func group(_ number: Int, _ itemName: ItemName, _ value: SecretBytes) -> String {
    let line = ItemLine.encode(value, for: itemName)
    var text = """
      [\(number)]
      item-type=0
      display-name=\(itemName.namespace.service): \(itemName.identifier)
      secret=\(String(decoding: line.bytes(0..<line.byteCount), as: UTF8.self))
      mtime=1
      ctime=1


      """
    let attributes = ItemAttributes.all(of: itemName, size: ItemAttributes.Size(of: value))
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
