import Glibc
import SessionToolsBase
import Synchronization

/// One directory in memory, because a real one would take most of a fuzzer's time.
///
/// Nobody else uses it, so locks are always free and syncs have nothing to do.
final class MemoryFileSystem: FileSystem {
  private struct State {
    var contents: [Int: [UInt8]] = [:]
    var names: [String: Int] = [:]
    var open: [Descriptor: Int] = [:]
    var lastFile = 0
    var lastDescriptor: Int32 = 1000
  }

  private static let directory = Descriptor(rawValue: 1000)
  private let state: Mutex<State>

  init(_ files: [String: [UInt8]]) {
    var state = State()
    for (name, content) in files {
      state.lastFile += 1
      state.names[name] = state.lastFile
      state.contents[state.lastFile] = content
    }
    self.state = Mutex(state)
  }

  /// The files by their names.
  var files: [String: [UInt8]] {
    state.withLock { state in state.names.compactMapValues { state.contents[$0] } }
  }

  /// The number of files that are open.
  var openCount: Int { state.withLock { $0.open.count } }

  func openDirectory(_ path: String) -> Descriptor { Self.directory }
  func makeDirectory(_ path: String) throws(SystemCallError) {
    throw SystemCallError("mkdir", EEXIST)
  }

  func open(
    _ name: String, in directory: Descriptor, _ access: FileAccess
  ) throws(SystemCallError) -> Descriptor {
    try with("openat") { state in
      if let file = state.names[name] {
        return access == .create ? .failure(EEXIST) : .success(Self.open(file, &state))
      }
      guard access == .create || access == .readWriteOrCreate else { return .failure(ENOENT) }
      state.lastFile += 1
      state.names[name] = state.lastFile
      state.contents[state.lastFile] = []
      return .success(Self.open(state.lastFile, &state))
    }
  }

  private static func open(_ file: Int, _ state: inout State) -> Descriptor {
    state.lastDescriptor += 1
    let descriptor = Descriptor(rawValue: state.lastDescriptor)
    state.open[descriptor] = file
    return descriptor
  }

  func close(_ descriptor: Descriptor) {
    state.withLock { state in _ = state.open.removeValue(forKey: descriptor) }
  }

  func status(of descriptor: Descriptor) throws(SystemCallError) -> FileStatus {
    if descriptor == Self.directory {
      return FileStatus(
        kind: .directory, permissions: 0o700, owner: geteuid(), linkCount: 2, byteCount: 0,
        device: 1, inode: 0)
    }
    return try with("fstat") { state in
      guard let file = state.open[descriptor] else { return .failure(EBADF) }
      return .success(Self.status(of: file, state))
    }
  }

  func status(of name: String, in directory: Descriptor) -> FileStatus? {
    state.withLock { state in state.names[name].map { Self.status(of: $0, state) } }
  }

  private static func status(of file: Int, _ state: borrowing State) -> FileStatus {
    FileStatus(
      kind: .regular, permissions: 0o600, owner: geteuid(),
      linkCount: state.names.values.count { $0 == file },
      byteCount: state.contents[file]?.count ?? 0, device: 1, inode: UInt64(file))
  }

  func names(in directory: Descriptor) -> [String] { state.withLock { Array($0.names.keys) } }

  func read(
    _ descriptor: Descriptor, at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int {
    guard offset >= 0 else { throw SystemCallError("pread", EINVAL) }
    return try with("pread") { state in
      guard let file = state.open[descriptor], let content = state.contents[file] else {
        return .failure(EBADF)
      }
      let part = content.dropFirst(offset).prefix(range.count)
      buffer.copy(Array(part), to: range.lowerBound)
      return .success(part.count)
    }
  }

  func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) -> Int {
    try with("pwrite") { state in
      guard let file = state.open[descriptor], var content = state.contents[file] else {
        return .failure(EBADF)
      }
      Self.resize(&content, to: max(content.count, offset + range.count))
      content.replaceSubrange(offset..<offset + range.count, with: buffer.bytes(range))
      state.contents[file] = content
      return .success(range.count)
    }
  }

  func truncate(_ descriptor: Descriptor, to byteCount: Int) throws(SystemCallError) {
    try with("ftruncate") { state -> Outcome<Void> in
      guard let file = state.open[descriptor], var content = state.contents[file] else {
        return .failure(EBADF)
      }
      Self.resize(&content, to: byteCount)
      state.contents[file] = content
      return .success(())
    }
  }

  private static func resize(_ content: inout [UInt8], to byteCount: Int) {
    if content.count > byteCount { content.removeLast(content.count - byteCount) }
    content += [UInt8](repeating: 0, count: byteCount - content.count)
  }

  func synchronizeData(_ descriptor: Descriptor) {}
  func synchronize(_ descriptor: Descriptor) {}

  func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    try with("renameat") { state -> Outcome<Void> in
      guard let file = state.names.removeValue(forKey: name) else { return .failure(ENOENT) }
      state.names[other] = file
      return .success(())
    }
  }

  func link(_ name: String, to other: String, in directory: Descriptor) throws(SystemCallError) {
    try with("linkat") { state -> Outcome<Void> in
      guard let file = state.names[name] else { return .failure(ENOENT) }
      guard state.names[other] == nil else { return .failure(EEXIST) }
      state.names[other] = file
      return .success(())
    }
  }

  func remove(_ name: String, in directory: Descriptor) throws(SystemCallError) {
    try with("unlinkat") { state -> Outcome<Void> in
      state.names.removeValue(forKey: name) == nil ? .failure(ENOENT) : .success(())
    }
  }

  func tryLock(_ descriptor: Descriptor, byte: Int) -> Bool { true }
  func unlock(_ descriptor: Descriptor, byte: Int) {}

  private enum Outcome<Value> {
    case success(Value)
    case failure(Int32)
  }

  private func with<Value>(
    _ call: String, _ body: (inout State) -> Outcome<Value>
  ) throws(SystemCallError) -> Value {
    let outcome = state.withLock { body(&$0) }
    switch outcome {
    case .success(let value): return value
    case .failure(let number): throw SystemCallError(call, number)
    }
  }
}
