import CMalloc
import Foundation
import Items

/// The memory of this process.
enum Memory {
  /// Returns the bytes of memory that belong to this process alone and to no file.
  ///
  /// Memory that `malloc` keeps for later is returned to the system first.
  static func anonymousByteCount() throws -> Int {
    malloc_trim(0)
    let text = try String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)
    for line in text.split(separator: "\n") where line.hasPrefix("Anonymous:") {
      if let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) {
        return kibibytes * 1024
      }
    }
    throw WorkloadError("/proc/self/smaps_rollup does not contain the anonymous memory")
  }
}
