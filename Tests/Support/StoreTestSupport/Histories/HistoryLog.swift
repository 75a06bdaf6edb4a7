package import Foundation

/// The history files of a process that may be killed at any moment.
///
/// A change is in its file before it is made, as one that never ends, because it may be made
/// although the process does not live to say so.
package final class HistoryLog {
  private let files: [FileHandle]
  /// How many operations each file has for good.
  private var counts = [Int](repeating: 0, count: SharedItems.groupCount)
  private var begun: Int?

  /// Makes a file for each group of items, in a directory.
  package init(in directory: URL, client: Int) throws {
    files = try (0..<SharedItems.groupCount).map { group in
      let path = directory.appending(path: "\(client)-\(group)").path
      guard FileManager.default.createFile(atPath: path, contents: nil),
        let file = FileHandle(forWritingAtPath: path)
      else { throw CocoaError(.fileWriteUnknown) }
      return file
    }
  }

  /// Writes a change that is about to be made.
  package func begin(_ change: HistoryOperation, ofGroup group: Int) throws {
    begun = group
    try files[group].write(contentsOf: HistoryFile.batch(ofBegun: change))
  }

  /// Writes what is new in the operations of the groups; a change that was begun and is not among
  /// them was certainly not made.
  package func update(_ operations: [[HistoryOperation]]) throws {
    for (group, all) in operations.enumerated() where all.count > counts[group] || begun == group {
      try files[group].write(contentsOf: HistoryFile.batch(of: all[counts[group]...]))
      counts[group] = all.count
    }
    begun = nil
  }
}
