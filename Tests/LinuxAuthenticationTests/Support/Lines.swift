import Foundation
import SessionToolsTestSupport

extension FileHandle {
  /// Returns the next line without its line feed, or `nil` if there are no more.
  ///
  /// - Throws: `NeverHappened` if no line arrives in time.
  func line() async throws -> String? {
    // Reading blocks, and the pool has few threads.
    try await onThread { [self] in
      var wait = Wait()
      var line = Data()
      while true {
        var waiting = pollfd(fd: fileDescriptor, events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&waiting, 1, 1000) > 0 else {
          guard !wait.isOver() else { throw NeverHappened(what: "a line") }
          continue
        }
        guard let byte = try read(upToCount: 1), !byte.isEmpty else { return nil }
        if byte[0] == UInt8(ascii: "\n") { return String(decoding: line, as: UTF8.self) }
        line += byte
      }
    }
  }
}
