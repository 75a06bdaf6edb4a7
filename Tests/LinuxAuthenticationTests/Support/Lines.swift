import Foundation
import TestSupport

extension FileHandle {
  /// The next line, without its end; `nil` when there are no more.
  func line() async throws -> String? {
    // It waits, and the pool has few threads.
    try await onThread { [self] in
      var line = Data()
      while let byte = try read(upToCount: 1), !byte.isEmpty {
        if byte[0] == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
        line += byte
      }
      return nil
    }
  }
}
