import Foundation

/// The directory of the demonstration, removed at its end.
final class DemoDirectory {
  let store: String
  let keyFile: String
  private let root: URL

  init() throws {
    let name = "session-tools-demo-\(UUID().uuidString.prefix(8))"
    root = FileManager.default.temporaryDirectory.appending(path: name)
    for directory in ["", "keys"] {
      try FileManager.default.createDirectory(
        at: root.appending(path: directory), withIntermediateDirectories: false,
        attributes: [.posixPermissions: 0o700])
    }
    store = root.appending(path: "store").path
    keyFile = root.appending(path: "keys/demo.key").path
  }

  /// The store's journal as it is on disk.
  var journal: Data {
    get throws { try Data(contentsOf: URL(filePath: "\(store)/journal")) }
  }

  /// Flips one bit of the journal.
  func flipBit(at offset: Int) throws {
    let file = try FileHandle(forUpdating: URL(filePath: "\(store)/journal"))
    defer { try? file.close() }
    try file.seek(toOffset: UInt64(offset))
    guard let byte = try file.read(upToCount: 1)?.first else { return }
    try file.seek(toOffset: UInt64(offset))
    try file.write(contentsOf: [byte ^ 1])
  }

  deinit {
    // If this fails, the system clears it, like everything in its temporary directory.
    try? FileManager.default.removeItem(at: root)
  }
}
