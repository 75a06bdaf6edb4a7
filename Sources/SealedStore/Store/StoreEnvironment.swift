package import SessionToolsBase

/// What a store takes from outside of itself: the file system and randomness.
package struct StoreEnvironment: Sendable {
  package var fileSystem: any FileSystem
  package var random: any RandomSource

  package init(
    fileSystem: any FileSystem = LinuxFileSystem(), random: any RandomSource = SystemRandomSource()
  ) {
    self.fileSystem = fileSystem
    self.random = random
  }
}
