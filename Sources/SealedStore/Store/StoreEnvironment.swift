package import SessionToolsBase

/// What a store takes from outside of itself: the file system, randomness and time.
package struct StoreEnvironment: Sendable {
  package var fileSystem: any FileSystem
  package var random: any RandomSource
  /// How long files are read again that others replace meanwhile: each time takes longer than
  /// reading them, so that a few times are enough unless the machine has no time for the reader.
  package var readingPatience: Duration
  /// How long a repair keeps the writer's lock in the end: for so long, a store that is open may go
  /// on with the files that were there before.
  package var repairLease: Duration

  package init(
    fileSystem: any FileSystem = LinuxFileSystem(),
    random: any RandomSource = SystemRandomSource(), readingPatience: Duration = .seconds(30),
    repairLease: Duration = .milliseconds(150)
  ) {
    self.fileSystem = fileSystem
    self.random = random
    self.readingPatience = readingPatience
    self.repairLease = repairLease
  }
}
