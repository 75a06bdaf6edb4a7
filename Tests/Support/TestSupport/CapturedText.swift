package import Foundation

/// A file for what a program writes, which is gone with this object.
package final class CapturedText: Sendable {
  private let directory: TemporaryDirectory
  /// For the program.
  package let writer: FileHandle

  package init() throws {
    directory = try TemporaryDirectory()
    let path = directory["text"]
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw POSIXError(.EIO)
    }
    writer = try FileHandle(forWritingTo: URL(filePath: path))
  }

  package var data: Data {
    // The file was made above: without it, the test has more to complain about than this text.
    (try? Data(contentsOf: URL(filePath: directory["text"]))) ?? Data()
  }

  package var text: String { String(decoding: data, as: UTF8.self) }
}
