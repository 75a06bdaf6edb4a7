import CMalloc
import Foundation

/// The memory of this process.
enum Memory {
  /// Bytes of memory that belongs to this process alone and to no file, what `malloc` keeps
  /// for later given back first.
  static func anonymousByteCount() throws -> Int {
    malloc_trim(0)
    let text = try String(contentsOfFile: "/proc/self/smaps_rollup", encoding: .utf8)
    for line in text.split(separator: "\n") where line.hasPrefix("Anonymous:") {
      if let kibibytes = line.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) {
        return kibibytes * 1024
      }
    }
    throw WorkloadError("/proc/self/smaps_rollup does not tell the anonymous memory")
  }
}
