import DBus
import Foundation
import Glibc

/// This process, in the form that polkit expects.
enum PolkitSubject {
  /// Returns `('unix-process', {pid, start-time, uid})`.
  ///
  /// The start time and the user are included, because the process identifier alone may belong to
  /// another process by the time polkit looks.
  static func ownProcess() -> Variant {
    let properties: [String: Variant] = [
      "pid": .unsigned32(UInt32(getpid())), "start-time": .unsigned64(startTime),
      "uid": .signed32(Int32(bitPattern: getuid())),
    ]
    return .tuple([.string("unix-process"), .properties(properties)])
  }

  /// When the process started, in ticks since the machine's start: field 22 of proc(5)'s `stat`.
  ///
  /// It is zero if that cannot be read; polkit then looks it up itself.
  private static var startTime: UInt64 {
    // A handle, because a file of reported size zero is not read to its end by its path.
    guard let file = FileHandle(forReadingAtPath: "/proc/self/stat"),
      let content = try? file.readToEnd(),
      // Field 3 follows the name, which may contain spaces and parentheses.
      let end = content.lastIndex(of: UInt8(ascii: ")"))
    else { return 0 }
    let fields = String(decoding: content[(end + 1)...], as: UTF8.self).split(separator: " ")
    return fields.count > 19 ? UInt64(fields[19]) ?? 0 : 0
  }
}
