import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport

/// One store whose life is recorded, with the same keys, nonces and identifiers every time.
final class CrashWorld {
  static let keyNames = ["first", "second", "third"]

  let path: String
  let recorder: RecordingFileSystem
  /// On top of the recorder, so that what fails on demand is not recorded as done.
  let faults: FaultyFileSystem
  let keys: [String: RawKey]
  private let random: SeededRandom
  private(set) var current: SealedFileStore?
  /// Whether an operation let calls fail by itself.
  private(set) var hasFailed = false

  /// A world whose directory is absent, or has a store in it.
  ///
  /// - Parameters:
  ///   - path: The store's directory.
  ///   - fileSystem: Where it is; the kernel's when nothing is said.
  ///   - content: What is in the directory.
  ///   - seed: Another one for each world that goes on with the same store, so that no key and
  ///     no nonce comes again.
  /// - Throws: When a key cannot be made.
  init(
    _ path: String, in fileSystem: any FileSystem = LinuxFileSystem(),
    content: RecordedDisk.Content = [:], seed: UInt64
  ) throws {
    self.path = path
    random = SeededRandom(seed: seed)
    recorder = RecordingFileSystem(path, in: fileSystem, names: Array(content.keys))
    faults = FaultyFileSystem(in: recorder)
    keys = try Self.keys()
  }

  /// Keys with labels so long that a header takes several sectors.
  static func keys() throws -> [String: RawKey] {
    var keys: [String: RawKey] = [:]
    for (position, name) in keyNames.enumerated() {
      let bytes = SeededRandom.bytes(32, seed: 11, number: UInt64(position + 1))
      let label = String(repeating: "\(name) ", count: 90)
      keys[name] = try RawKey(SecretBytes(bytes), label: label)
    }
    return keys
  }

  func key(_ name: String) -> RawKey {
    guard let key = keys[name] else { preconditionFailure("there is no key \(name)") }
    return key
  }

  private var environment: StoreEnvironment { StoreEnvironment(fileSystem: faults, random: random) }

  func create() throws {
    current = try SealedFileStore.create(
      at: path, key: key("first"), options: .init(), environment: environment)
  }

  /// Opens the store as a new process would.
  func reopen(_ name: String = "first") throws {
    current = nil
    current = try SealedFileStore.open(
      at: path, key: key(name), options: .init(), environment: environment)
  }

  /// The store, opened when it is not.
  func store() throws -> SealedFileStore {
    if current == nil { try reopen() }
    guard let current else { preconditionFailure("a store that was opened is there") }
    return current
  }

  /// Closes the store, as the end of a process does.
  func close() { current = nil }

  /// Lets the process die: from the call on that the rule says, nothing is done any more.
  func dying(
    at isLast: @escaping @Sendable (FaultyFileSystem.Call) -> FaultyFileSystem.Fault?,
    _ body: (SealedFileStore) throws -> Void
  ) throws {
    let store = try store()
    let isDead = Locked(false)
    faults.setRule { call in
      isDead.withLock { isDead in
        if isDead { return .fail(EIO) }
        let fault = isLast(call)
        isDead = fault != nil
        return fault
      }
    }
    hasFailed = true
    // What a dead process would have answered is of no interest.
    _ = try code { try body(store) }
    faults.setRule(nil)
    current = nil
  }

  /// Lets the first write write so many bytes, and the next one find the disk full.
  func onFullDisk(after byteCount: Int, _ body: (SealedFileStore) throws -> Void) throws {
    let store = try store()
    let isFull = Locked(false)
    faults.setRule { call in
      guard call.kind == .write else { return nil }
      return isFull.withLock { isFull in
        defer { isFull = true }
        return isFull ? .fail(ENOSPC) : .short(byteCount)
      }
    }
    hasFailed = true
    let outcome = try code { try body(store) }
    precondition(outcome == StoreError.noSpace, "\(outcome as Any)")
    faults.setRule(nil)
  }
}
