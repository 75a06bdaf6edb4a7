import Foundation
import TestSupport
import Testing

/// A file that a provider writes some time after a change, as a new file each time.
struct SavedFile {
  let path: String

  private struct Version: Equatable {
    /// The inode's number, which may be that of an earlier version.
    let number: Int
    let modificationDate: Date
  }

  /// Makes changes, and waits until they are on disk.
  func saving(_ change: () async throws -> Void) async throws {
    let before = try version()
    try await change()
    // One change may be several for the provider, each of which writes a new file.
    var last = before
    var lastChange = ContinuousClock.now
    try await wait(until: "\(path) is saved") {
      let version = try version()
      if version != last { (last, lastChange) = (version, .now) }
      return last != before && ContinuousClock.now - lastChange > .seconds(3)
    }
  }

  private func version() throws -> Version {
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    return Version(
      number: try #require(attributes[.systemFileNumber] as? Int),
      modificationDate: try #require(attributes[.modificationDate] as? Date))
  }
}
