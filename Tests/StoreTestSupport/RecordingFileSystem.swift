package import SessionToolsBase
import Synchronization

/// What happened to the files of one directory, in order: enough to know what a disk may hold
/// after a crash at any moment.
package enum RecordedStep: Sendable {
  /// The directory itself was made.
  case makeDirectory
  /// `fsync` of the directory above it.
  case synchronizeParent
  /// A new, empty file. Files are told apart by a number, whatever they are called.
  case create(name: String, file: Int)
  case write(file: Int, offset: Int, bytes: [UInt8])
  case truncate(file: Int, byteCount: Int)
  /// `fdatasync` or `fsync` of a file that did not fail; the name is the one it has then.
  case synchronize(file: Int, name: String)
  /// A sync that failed: the kernel calls the pages clean and forgets what was in them.
  case dropUnsynced(file: Int)
  /// `fsync` of the directory.
  case synchronizeDirectory
  case rename(name: String, other: String)
  case link(name: String, other: String)
  case remove(name: String)
  /// What the program that is recorded was told: its n-th operation returned.
  case confirmed(Int)
}

/// A file system with a record of every step that changes files in one directory.
package final class RecordingFileSystem: FileSystem {
  private struct State {
    var steps: [RecordedStep] = []
    var names: [String: Int] = [:]
    var files: [Descriptor: Int] = [:]
    var directories: Set<Descriptor> = []
    var parents: Set<Descriptor> = []
    var fileCount = 0
    var failsNextSynchronization = false
  }

  /// The directory whose files are recorded.
  package let path: String
  private let real: any FileSystem
  private let state: Mutex<State>

  /// Records what happens in a directory.
  ///
  /// - Parameters:
  ///   - path: The directory.
  ///   - fileSystem: Where it is; the kernel's when nothing is said.
  ///   - names: The files that are in it, which get the numbers from 1 on in the order of their
  ///     names.
  package init(
    _ path: String, in fileSystem: any FileSystem = LinuxFileSystem(), names: [String] = []
  ) {
    self.path = path
    real = fileSystem
    var state = State()
    for name in names.sorted() {
      state.fileCount += 1
      state.names[name] = state.fileCount
    }
    self.state = Mutex(state)
  }

  /// The steps so far.
  package var steps: [RecordedStep] { state.withLock { $0.steps } }

  /// Lets the next `fdatasync` fail, after which no other will save what was to be synced.
  package func failNextSynchronization() {
    state.withLock { $0.failsNextSynchronization = true }
  }

  /// Notes that an operation has returned.
  package func confirm(_ operation: Int) {
    state.withLock { $0.steps.append(.confirmed(operation)) }
  }

  package func openDirectory(_ path: String) throws(SystemCallError) -> Descriptor {
    let descriptor = try real.openDirectory(path)
    state.withLock { state in
      if path == self.path { state.directories.insert(descriptor) }
      if path == self.path.parentPath + "/." { state.parents.insert(descriptor) }
    }
    return descriptor
  }

  package func makeDirectory(_ path: String) throws(SystemCallError) {
    try real.makeDirectory(path)
    if path == self.path { state.withLock { $0.steps.append(.makeDirectory) } }
  }

  package func open(
    _ name: String, in directory: Descriptor, _ access: FileAccess
  ) throws(SystemCallError) -> Descriptor {
    let descriptor = try real.open(name, in: directory, access)
    state.withLock { state in
      guard state.directories.contains(directory) else { return }
      if let file = state.names[name] {
        state.files[descriptor] = file
        return
      }
      state.fileCount += 1
      state.names[name] = state.fileCount
      state.files[descriptor] = state.fileCount
      state.steps.append(.create(name: name, file: state.fileCount))
    }
    return descriptor
  }

  package func close(_ descriptor: Descriptor) {
    state.withLock { state in
      state.files[descriptor] = nil
      state.directories.remove(descriptor)
      state.parents.remove(descriptor)
    }
    real.close(descriptor)
  }

  package func status(of descriptor: Descriptor) throws(SystemCallError) -> FileStatus {
    try real.status(of: descriptor)
  }

  package func status(
    of name: String, in directory: Descriptor
  ) throws(SystemCallError) -> FileStatus? {
    try real.status(of: name, in: directory)
  }

  package func names(in directory: Descriptor) throws(SystemCallError) -> [String] {
    try real.names(in: directory)
  }

  package func read(
    _ descriptor: Descriptor, at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int {
    try real.read(descriptor, at: offset, into: buffer, range)
  }

  package func nextData(
    _ descriptor: Descriptor, from offset: Int
  ) throws(SystemCallError) -> Int? {
    try real.nextData(descriptor, from: offset)
  }

  package func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) -> Int {
    let count = try real.write(buffer, range, to: descriptor, at: offset)
    let bytes = buffer.bytes(range.lowerBound..<range.lowerBound + count)
    record(descriptor) { .write(file: $0, offset: offset, bytes: bytes) }
    return count
  }

  package func truncate(_ descriptor: Descriptor, to byteCount: Int) throws(SystemCallError) {
    try real.truncate(descriptor, to: byteCount)
    record(descriptor) { .truncate(file: $0, byteCount: byteCount) }
  }

  package func synchronizeData(_ descriptor: Descriptor) throws(SystemCallError) {
    let fails = state.withLock { state in
      defer { state.failsNextSynchronization = false }
      return state.failsNextSynchronization
    }
    if fails {
      record(descriptor) { .dropUnsynced(file: $0) }
      throw SystemCallError("fdatasync", 5)
    }
    try real.synchronizeData(descriptor)
    recordSynchronization(of: descriptor)
  }

  package func synchronize(_ descriptor: Descriptor) throws(SystemCallError) {
    try real.synchronize(descriptor)
    recordSynchronization(of: descriptor)
    state.withLock { state in
      if state.directories.contains(descriptor) { state.steps.append(.synchronizeDirectory) }
      if state.parents.contains(descriptor) { state.steps.append(.synchronizeParent) }
    }
  }

  package func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try real.rename(name, to: other, in: directory)
    state.withLock { state in
      state.names[other] = state.names.removeValue(forKey: name)
      state.steps.append(.rename(name: name, other: other))
    }
  }

  package func link(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try real.link(name, to: other, in: directory)
    state.withLock { state in
      state.names[other] = state.names[name]
      state.steps.append(.link(name: name, other: other))
    }
  }

  package func remove(_ name: String, in directory: Descriptor) throws(SystemCallError) {
    try real.remove(name, in: directory)
    state.withLock { state in
      state.names[name] = nil
      state.steps.append(.remove(name: name))
    }
  }

  package func tryLock(_ descriptor: Descriptor, byte: Int) throws(SystemCallError) -> Bool {
    try real.tryLock(descriptor, byte: byte)
  }

  package func unlock(_ descriptor: Descriptor, byte: Int) {
    real.unlock(descriptor, byte: byte)
  }

  private func record(_ descriptor: Descriptor, _ step: (Int) -> RecordedStep) {
    state.withLock { state in
      if let file = state.files[descriptor] { state.steps.append(step(file)) }
    }
  }

  private func recordSynchronization(of descriptor: Descriptor) {
    state.withLock { state in
      guard let file = state.files[descriptor] else { return }
      let name = state.names.first { $0.value == file }?.key ?? ""
      state.steps.append(.synchronize(file: file, name: name))
    }
  }
}
