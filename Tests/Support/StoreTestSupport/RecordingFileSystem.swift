package import SessionToolsBase
import Synchronization

/// One step in a record of what happened to the files of one directory.
///
/// The steps in order determine what a disk may hold after a crash at any moment.
package enum RecordedStep: Sendable {
  /// The directory itself was made.
  case makeDirectory
  /// `fsync` of the directory above it.
  case synchronizeParent
  /// A new, empty file, which a number identifies whatever its names are.
  case create(name: String, file: Int)
  case write(file: Int, offset: Int, bytes: [UInt8])
  case truncate(file: Int, byteCount: Int)
  /// A successful `fdatasync` or `fsync` of a file; the name is the one it has at that moment.
  case synchronize(file: Int, name: String)
  /// A sync that failed: the kernel marks the pages as clean and forgets what was in them.
  case dropUnsynced(file: Int)
  /// `fsync` of the directory.
  case synchronizeDirectory
  case rename(name: String, other: String)
  case link(name: String, other: String)
  case remove(name: String)
  /// The recorded program began its n-th operation.
  case begun(Int)
  /// The recorded program's n-th operation returned.
  case confirmed(Int)
  /// A program read something, which is kept elsewhere under this number.
  case read(Int)
  /// A program read the clock that counts steps.
  case moment
}

/// A file system with a record of every step that changes files in one directory.
package final class RecordingFileSystem: FileSystem {
  private struct State {
    var steps: [RecordedStep] = []
    var names: [String: Int] = [:]
    var files: [Descriptor: Int] = [:]
    /// The contents that reads past the kernel's cache return.
    var direct: [Descriptor: [UInt8]] = [:]
    var directories: Set<Descriptor> = []
    var parents: Set<Descriptor> = []
    var fileCount = 0
    /// The file whose next sync fails: a name, ``anyFile`` or ``directory``.
    var failing: String?
    var onStep: (@Sendable () -> Void)?
  }

  /// Stands for the directory itself when its sync is to fail.
  package static let directory = "."
  /// Stands for the file that is synced next, whichever that is.
  package static let anyFile = "*"

  /// The directory whose files are recorded.
  package let path: String
  private let real: any FileSystem
  private let initial: RecordedDisk.Content
  private let state: Mutex<State>

  /// Creates a file system that records what happens in a directory.
  ///
  /// - Parameters:
  ///   - path: The directory.
  ///   - fileSystem: The file system of the directory; by default, the kernel's.
  ///   - content: The files that are in it, which get the numbers from 1 on in the order of their
  ///     names.
  package init(
    _ path: String, in fileSystem: any FileSystem = LinuxFileSystem(),
    content: RecordedDisk.Content = [:]
  ) {
    self.path = path
    real = fileSystem
    initial = content
    var state = State()
    for name in content.keys.sorted() {
      state.fileCount += 1
      state.names[name] = state.fileCount
    }
    self.state = Mutex(state)
  }

  /// The steps so far.
  package var steps: [RecordedStep] { state.withLock { $0.steps } }

  /// Makes the next sync of a file, or of the directory, fail; no later sync saves what that one
  /// was to save.
  ///
  /// Names, however, wait for the next sync of the directory: a file system whose log cannot be
  /// written takes no more changes.
  ///
  /// - Parameter name: A file's name, ``anyFile`` or ``directory``; `nil` when no sync is to fail.
  package func failNextSynchronization(of name: String? = anyFile) {
    state.withLock { $0.failing = name }
  }

  /// Calls a closure after each step, on the thread that made it.
  package func setOnStep(_ body: (@Sendable () -> Void)?) {
    state.withLock { $0.onStep = body }
  }

  /// Notes that an operation begins.
  package func begin(_ operation: Int) {
    add(.begun(operation))
  }

  /// Notes that an operation has returned.
  package func confirm(_ operation: Int) {
    add(.confirmed(operation))
  }

  /// Notes that something was read.
  package func noteRead(_ number: Int) {
    add(.read(number))
  }

  /// Returns the number of steps, after adding one so that no other moment is the same.
  package func now() -> UInt64 {
    state.withLock { state in
      state.steps.append(.moment)
      return UInt64(state.steps.count)
    }
  }

  private func add(_ step: RecordedStep) {
    let onStep = state.withLock { state in
      state.steps.append(step)
      return state.onStep
    }
    onStep?()
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
    if path == self.path { add(.makeDirectory) }
  }

  package func open(
    _ name: String, in directory: Descriptor, _ access: FileAccess
  ) throws(SystemCallError) -> Descriptor {
    // Locked, since a rename in between would put another file under the name.
    let (descriptor, created) = try state.withLock {
      state throws(SystemCallError) -> (Descriptor, Int?) in
      let descriptor = try real.open(name, in: directory, access)
      guard state.directories.contains(directory), access != .unnamed else {
        return (descriptor, nil)
      }
      if let file = state.names[name] {
        state.files[descriptor] = file
        return (descriptor, nil)
      }
      state.fileCount += 1
      state.names[name] = state.fileCount
      state.files[descriptor] = state.fileCount
      return (descriptor, state.fileCount)
    }
    if access == .readDirect { takeDisk(for: descriptor, name) }
    if let created { add(.create(name: name, file: created)) }
    return descriptor
  }

  /// Keeps the oldest content that the disk may hold, since it may stay there after a failed sync.
  private func takeDisk(for descriptor: Descriptor, _ name: String) {
    var disk = RecordedDisk(initial)
    state.withLock { state in
      for step in state.steps { disk.perform(step) }
      guard let file = state.names[name] else { return }
      state.direct[descriptor] = disk.oldestContent(of: file)
    }
  }

  package func close(_ descriptor: Descriptor) {
    state.withLock { state in
      state.direct[descriptor] = nil
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
    guard let disk = state.withLock({ $0.direct[descriptor] }) else {
      return try real.read(descriptor, at: offset, into: buffer, range)
    }
    let bytes = disk.dropFirst(offset).prefix(range.count)
    buffer.copy(Array(bytes), to: range.lowerBound)
    return bytes.count
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
    try failIfAsked(descriptor, "fdatasync")
    try real.synchronizeData(descriptor)
    recordSynchronization(of: descriptor)
  }

  package func synchronize(_ descriptor: Descriptor) throws(SystemCallError) {
    try failIfAsked(descriptor, "fsync")
    try real.synchronize(descriptor)
    recordSynchronization(of: descriptor)
    let (isDirectory, isParent) = state.withLock { state in
      (state.directories.contains(descriptor), state.parents.contains(descriptor))
    }
    if isDirectory { add(.synchronizeDirectory) }
    if isParent { add(.synchronizeParent) }
  }

  private func failIfAsked(
    _ descriptor: Descriptor, _ call: String
  ) throws(SystemCallError) {
    let (fails, file) = state.withLock { state -> (Bool, Int?) in
      let file = state.files[descriptor]
      let fails =
        switch state.failing {
        case nil: false
        case Self.directory?: state.directories.contains(descriptor)
        case Self.anyFile?: file != nil
        case let name?: file != nil && state.names[name] == file
        }
      if fails { state.failing = nil }
      return (fails, file)
    }
    guard fails else { return }
    if let file { add(.dropUnsynced(file: file)) }
    throw SystemCallError(call, 5)
  }

  package func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try state.withLock { state throws(SystemCallError) in
      try real.rename(name, to: other, in: directory)
      state.names[other] = state.names.removeValue(forKey: name)
    }
    add(.rename(name: name, other: other))
  }

  package func link(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try state.withLock { state throws(SystemCallError) in
      try real.link(name, to: other, in: directory)
      state.names[other] = state.names[name]
    }
    add(.link(name: name, other: other))
  }

  package func remove(_ name: String, in directory: Descriptor) throws(SystemCallError) {
    try state.withLock { state throws(SystemCallError) in
      try real.remove(name, in: directory)
      state.names[name] = nil
    }
    add(.remove(name: name))
  }

  package func isCacheAuthoritative(_ descriptor: Descriptor) throws(SystemCallError) -> Bool {
    try real.isCacheAuthoritative(descriptor)
  }

  package func tryLock(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    try real.tryLock(descriptor, byte: byte, isShared: isShared)
  }

  package func isLocked(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    try real.isLocked(descriptor, byte: byte, isShared: isShared)
  }

  package func unlock(_ descriptor: Descriptor, byte: Int) {
    real.unlock(descriptor, byte: byte)
  }

  private func record(_ descriptor: Descriptor, _ step: (Int) -> RecordedStep) {
    if let file = state.withLock({ $0.files[descriptor] }) { add(step(file)) }
  }

  private func recordSynchronization(of descriptor: Descriptor) {
    let synced = state.withLock { state in
      state.files[descriptor].map { file in
        (file, state.names.first { $0.value == file }?.key ?? "")
      }
    }
    if let (file, name) = synced { add(.synchronize(file: file, name: name)) }
  }
}
