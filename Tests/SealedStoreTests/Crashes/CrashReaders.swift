import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport

/// Two other processes that read a store whenever the disk may have changed.
///
/// One keeps the store open as long as possible, and one opens it each time. Only one thread uses
/// this class, so the unchecked conformance is safe.
final class CrashReaders: @unchecked Sendable {
  private let recorder: RecordingFileSystem
  private let keys: [RawKey]
  private let open: (RawKey) throws -> SealedFileStore
  private var standing: SealedFileStore?
  private var isInspecting = false
  /// The items of all reads in order; the recorder has their moments.
  private(set) var reads: [[String: String]] = []
  /// The errors of reads that failed.
  private(set) var refusals: Set<StoreError.Code> = []

  /// Makes the two readers of a store.
  ///
  /// - Parameters:
  ///   - recorder: The file system with the store, which also records the reads.
  ///   - keys: The keys that may open the store.
  ///   - random: The source of randomness for changes that a reader recovers.
  init(_ recorder: RecordingFileSystem, keys: [RawKey], random: SeededRandom) {
    self.recorder = recorder
    self.keys = keys
    // A writer on this thread holds the lock, so waiting for it would never succeed.
    let options = SealedFileStore.Options(lockTimeout: .zero)
    let environment = StoreEnvironment(fileSystem: recorder, random: random)
    open = { key in
      try SealedFileStore.open(
        at: recorder.path, key: key, options: options, environment: environment)
    }
  }

  /// Reads everything, unless a reader that recovers changes made the step.
  func inspect() {
    guard !isInspecting else { return }
    isInspecting = true
    defer { isInspecting = false }
    if standing == nil { standing = opened() }
    if let standing { read(standing) }
    if let another = opened() { read(another) }
  }

  private func opened() -> SealedFileStore? {
    attempt {
      for key in keys.dropLast() {
        do {
          return try open(key)
        } catch let error as StoreError where error.code == .wrongKey {
          continue
        }
      }
      return try keys.last.map(open)
    } ?? nil
  }

  private func read(_ store: SealedFileStore) {
    guard let items = attempt({ try store.texts() }) else {
      if store === standing { standing = nil }
      return
    }
    note(items)
  }

  /// Notes the items of a read, unless they are the same as in the previous read.
  func note(_ items: [String: String]) {
    guard items != reads.last else { return }
    reads.append(items)
    recorder.noteRead(reads.count - 1)
  }

  private func attempt<Value>(_ body: () throws -> Value) -> Value? {
    do {
      return try body()
    } catch {
      if let error = error as? StoreError { refusals.insert(error.code) }
      return nil
    }
  }
}
