package import Foundation
package import SecretStores

/// The environment of a store: the file system, randomness and time.
package struct StoreEnvironment: Sendable {
  package var fileSystem: any FileSystem
  package var random: any RandomSource
  /// Returns the time to keep with an item that is put; `nil` if none is kept, so that the same
  /// randomness makes the same bytes.
  package var clock: (@Sendable () -> Date)?
  /// The longest time for which files are read again that others replace meanwhile.
  ///
  /// Replacing them takes longer than reading them, so a few attempts are enough unless the machine
  /// has no time for the reader.
  package var readingPatience: Duration
  /// The time for which a repair keeps the writer's lock at its end: for this long an open store
  /// may still use the files that were there before.
  package var repairLease: Duration

  package init(
    fileSystem: any FileSystem = LinuxFileSystem(),
    random: any RandomSource = SystemRandomSource(),
    clock: (@Sendable () -> Date)? = { Date() }, readingPatience: Duration = .seconds(30),
    repairLease: Duration = .milliseconds(150)
  ) {
    self.fileSystem = fileSystem
    self.random = random
    self.clock = clock
    self.readingPatience = readingPatience
    self.repairLease = repairLease
  }
}
