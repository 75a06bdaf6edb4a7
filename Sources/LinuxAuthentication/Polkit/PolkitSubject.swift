import DBus
import Foundation
import Glibc

/// This process, as polkit wants to know it.
enum PolkitSubject {
  /// `('unix-process', {pid, start-time, uid})`.
  ///
  /// With the time of the start and the user, because an identifier alone may be another process's
  /// by the time polkit looks.
  static func ownProcess() -> Variant {
    let properties: [String: Variant] = [
      "pid": .unsigned32(UInt32(getpid())), "start-time": .unsigned64(startTime),
      "uid": .signed32(Int32(bitPattern: getuid())),
    ]
    return .tuple([.string("unix-process"), .properties(properties)])
  }

  /// When the process started, in ticks since the machine did: field 22 of proc(5)'s `stat`; zero,
  /// by which polkit looks it up itself, where that cannot be read.
  private static var startTime: UInt64 {
    // By a handle, because a file that says it is empty is not read to its end by its path.
    guard let file = FileHandle(forReadingAtPath: "/proc/self/stat"),
      let content = try? file.readToEnd(),
      // Behind the name, which may have spaces and parentheses, comes field 3.
      let end = content.lastIndex(of: UInt8(ascii: ")"))
    else { return 0 }
    let fields = String(decoding: content[(end + 1)...], as: UTF8.self).split(separator: " ")
    return fields.count > 19 ? UInt64(fields[19]) ?? 0 : 0
  }
}
