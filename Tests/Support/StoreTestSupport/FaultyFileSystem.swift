package import SessionToolsBase
import Synchronization

/// A file system that logs its calls and makes them fail on demand.
package final class FaultyFileSystem: FileSystem {
  /// One call that can fail.
  package struct Call: Hashable, Sendable {
    /// The operation that is asked of the kernel.
    package enum Kind: String, Hashable, Sendable, CaseIterable {
      case openDirectory, makeDirectory, open, status, names, read, nextData, write, truncate
      case synchronizeData, synchronize, rename, link, remove, lock
    }

    package let kind: Kind
    /// The file's name as it was opened; the last part of the path for a directory.
    package let name: String
    /// The opening of a file or directory that the call is made on, counted from 1.
    ///
    /// Unlike descriptors, these numbers are never reused; 0 when the call has no descriptor.
    package let opening: Int
    /// The bytes of the file to read or write; empty when the call does neither.
    package let range: Range<Int>
    /// How a file is to be opened; `nil` when the call opens none.
    package let access: FileAccess?
    /// The number of calls so far, this one included.
    package let number: Int

    /// The number of bytes to read or write.
    package var byteCount: Int { range.count }
  }

  /// What happens instead of a call.
  package enum Fault: Sendable {
    /// Nothing is done, and the call fails.
    case fail(Int32)
    /// A write writes at most this many bytes.
    case short(Int)
  }

  package typealias Rule = @Sendable (Call) -> Fault?
  /// The status to report of a file instead of its real one.
  package typealias Appearance = @Sendable (FileStatus) -> FileStatus

  private struct State {
    var rule: Rule?
    var appearance: Appearance?
    var calls: [Call] = []
    var count = 0
    var open: [Descriptor: Opening] = [:]
    var openingCount = 0
    var locks: Set<HeldLock> = []
    var wrongCloses = 0
  }

  private struct Opening {
    let number: Int
    let name: String
  }

  private struct HeldLock: Hashable {
    let descriptor: Descriptor
    let byte: Int
  }

  private let real: any FileSystem
  private let state: Mutex<State>

  /// Creates a file system on top of another one, by default the kernel's.
  package init(in fileSystem: any FileSystem = LinuxFileSystem(), _ rule: Rule? = nil) {
    real = fileSystem
    state = Mutex(State(rule: rule))
  }

  /// Changes which calls fail, and starts to count again.
  package func setRule(_ rule: Rule?) {
    state.withLock { state in
      state.rule = rule
      state.count = 0
      state.calls = []
    }
  }

  /// Changes the status that is reported of files.
  package func setAppearance(_ appearance: Appearance?) {
    state.withLock { $0.appearance = appearance }
  }

  private func shown(_ status: FileStatus) -> FileStatus {
    state.withLock { $0.appearance }?(status) ?? status
  }

  /// The calls since the rule was set.
  package var calls: [Call] { state.withLock { $0.calls } }

  /// Returns how often a call was made since the rule was set.
  package func count(_ kind: Call.Kind) -> Int {
    state.withLock { state in state.calls.count { $0.kind == kind } }
  }

  /// The names of files and directories that are open.
  package var openNames: [String] { state.withLock { $0.open.values.map(\.name).sorted() } }

  /// The number of locks that are held.
  package var lockCount: Int { state.withLock { $0.locks.count } }

  /// The number of attempts to close a descriptor that was not open.
  package var wrongCloseCount: Int { state.withLock { $0.wrongCloses } }

  private func fault(
    _ kind: Call.Kind, _ name: String, _ descriptor: Descriptor? = nil, range: Range<Int> = 0..<0,
    access: FileAccess? = nil
  ) throws(SystemCallError) -> Int? {
    let (rule, call) = state.withLock { state -> (Rule?, Call) in
      state.count += 1
      let opening = descriptor.flatMap { state.open[$0] }
      let call = Call(
        kind: kind, name: opening?.name ?? name, opening: opening?.number ?? 0,
        range: range, access: access, number: state.count)
      state.calls.append(call)
      return (state.rule, call)
    }
    switch rule?(call) {
    case .fail(let code)?: throw SystemCallError(kind.rawValue, code)
    case .short(let byteCount)?: return byteCount
    case nil: return nil
    }
  }

  private func opened(_ descriptor: Descriptor, _ name: String) -> Descriptor {
    state.withLock { state in
      state.openingCount += 1
      state.open[descriptor] = Opening(number: state.openingCount, name: name)
    }
    return descriptor
  }

  package func openDirectory(_ path: String) throws(SystemCallError) -> Descriptor {
    _ = try fault(.openDirectory, path)
    return opened(try real.openDirectory(path), path)
  }

  package func makeDirectory(_ path: String) throws(SystemCallError) {
    _ = try fault(.makeDirectory, path)
    try real.makeDirectory(path)
  }

  package func open(
    _ name: String, in directory: Descriptor, _ access: FileAccess
  ) throws(SystemCallError) -> Descriptor {
    _ = try fault(.open, name, access: access)
    return opened(try real.open(name, in: directory, access), name)
  }

  package func close(_ descriptor: Descriptor) {
    state.withLock { state in
      if state.open.removeValue(forKey: descriptor) == nil { state.wrongCloses += 1 }
      state.locks = state.locks.filter { $0.descriptor != descriptor }
    }
    real.close(descriptor)
  }

  package func status(of descriptor: Descriptor) throws(SystemCallError) -> FileStatus {
    _ = try fault(.status, "", descriptor)
    return shown(try real.status(of: descriptor))
  }

  package func status(
    of name: String, in directory: Descriptor
  ) throws(SystemCallError) -> FileStatus? {
    _ = try fault(.status, name)
    return try real.status(of: name, in: directory).map(shown)
  }

  package func names(in directory: Descriptor) throws(SystemCallError) -> [String] {
    _ = try fault(.names, "", directory)
    return try real.names(in: directory)
  }

  package func read(
    _ descriptor: Descriptor, at offset: Int, into buffer: ByteBuffer, _ range: Range<Int>
  ) throws(SystemCallError) -> Int {
    _ = try fault(.read, "", descriptor, range: offset..<offset + range.count)
    return try real.read(descriptor, at: offset, into: buffer, range)
  }

  package func nextData(
    _ descriptor: Descriptor, from offset: Int
  ) throws(SystemCallError) -> Int? {
    _ = try fault(.nextData, "", descriptor)
    return try real.nextData(descriptor, from: offset)
  }

  package func write(
    _ buffer: ByteBuffer, _ range: Range<Int>, to descriptor: Descriptor, at offset: Int
  ) throws(SystemCallError) -> Int {
    let wanted = offset..<offset + range.count
    let most = try fault(.write, "", descriptor, range: wanted) ?? range.count
    let part = range.lowerBound..<range.lowerBound + min(most, range.count)
    return try real.write(buffer, part, to: descriptor, at: offset)
  }

  package func truncate(_ descriptor: Descriptor, to byteCount: Int) throws(SystemCallError) {
    _ = try fault(.truncate, "", descriptor)
    try real.truncate(descriptor, to: byteCount)
  }

  package func synchronizeData(_ descriptor: Descriptor) throws(SystemCallError) {
    _ = try fault(.synchronizeData, "", descriptor)
    try real.synchronizeData(descriptor)
  }

  package func synchronize(_ descriptor: Descriptor) throws(SystemCallError) {
    _ = try fault(.synchronize, "", descriptor)
    try real.synchronize(descriptor)
  }

  package func rename(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    _ = try fault(.rename, other)
    try real.rename(name, to: other, in: directory)
  }

  package func link(
    _ name: String, to other: String, in directory: Descriptor
  ) throws(SystemCallError) {
    _ = try fault(.link, other)
    try real.link(name, to: other, in: directory)
  }

  package func remove(_ name: String, in directory: Descriptor) throws(SystemCallError) {
    _ = try fault(.remove, name)
    try real.remove(name, in: directory)
  }

  package func isCacheAuthoritative(_ descriptor: Descriptor) throws(SystemCallError) -> Bool {
    try real.isCacheAuthoritative(descriptor)
  }

  package func tryLock(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    _ = try fault(.lock, "", descriptor)
    guard try real.tryLock(descriptor, byte: byte, isShared: isShared) else { return false }
    state.withLock { state in
      _ = state.locks.insert(HeldLock(descriptor: descriptor, byte: byte))
    }
    return true
  }

  package func isLocked(
    _ descriptor: Descriptor, byte: Int, isShared: Bool
  ) throws(SystemCallError) -> Bool {
    _ = try fault(.lock, "", descriptor)
    return try real.isLocked(descriptor, byte: byte, isShared: isShared)
  }

  package func unlock(_ descriptor: Descriptor, byte: Int) {
    state.withLock { state in
      _ = state.locks.remove(HeldLock(descriptor: descriptor, byte: byte))
    }
    real.unlock(descriptor, byte: byte)
  }
}
