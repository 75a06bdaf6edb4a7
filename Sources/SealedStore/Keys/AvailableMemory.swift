import Foundation

/// The memory available to this process.
package enum AvailableMemory {
  /// Returns the memory that the kernel calls available or, if it is lower, the lowest limit of
  /// the control groups (version 2) that the process is in.
  ///
  /// - Parameter root: Where `/proc` and `/sys` are.
  /// - Returns: The bytes; `nil` when neither can be read.
  package static func byteCount(root: String = "") -> Int? {
    (groupLimits(root) + [availableToSystem(root)]).compactMap(\.self).min()
  }

  /// Reads a line such as `MemAvailable:   16384 kB`.
  private static func availableToSystem(_ root: String) -> Int? {
    text("\(root)/proc/meminfo")?.split(separator: "\n")
      .first { $0.hasPrefix("MemAvailable:") }?
      .split(separator: " ").dropFirst().first
      .flatMap { Int($0) }
      .map { $0 * 1024 }
  }

  /// Reads the limits of the process's own group and of each group around it; `nil` for no limit.
  private static func groupLimits(_ root: String) -> [Int?] {
    guard
      let line = text("\(root)/proc/self/cgroup")?.split(separator: "\n")
        .first(where: { $0.hasPrefix("0::") })
    else { return [] }
    let names = line.dropFirst(3).split(separator: "/")
    return (0...names.count).map { depth in
      let group = names.prefix(depth).map { "/\($0)" }.joined()
      return text("\(root)/sys/fs/cgroup\(group)/memory.max").flatMap {
        Int($0.trimmingCharacters(in: .whitespacesAndNewlines))
      }
    }
  }

  private static func text(_ path: String) -> String? {
    try? String(contentsOfFile: path, encoding: .utf8)
  }
}
