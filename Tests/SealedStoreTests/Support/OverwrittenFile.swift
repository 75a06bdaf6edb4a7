import Foundation
import Testing

/// A file that is overwritten repeatedly through one descriptor.
final class OverwrittenFile {
  private let handle: FileHandle

  init(_ path: String) throws {
    handle = try FileHandle(forUpdating: URL(filePath: path))
  }

  deinit {
    try? handle.close()
  }

  func overwrite(with bytes: [UInt8]) throws {
    try handle.truncate(atOffset: UInt64(bytes.count))
    try handle.seek(toOffset: 0)
    try handle.write(contentsOf: Data(bytes))
  }
}
