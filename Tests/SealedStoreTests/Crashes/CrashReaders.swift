import SealedStore
import SessionToolsBase
import StoreTestSupport

/// Other processes that look at a store whenever the disk may have changed: one that has it open for
/// as long as it can, and one that opens it each time.
///
/// Used by one thread alone, which makes the unchecked conformance true.
final class CrashReaders: @unchecked Sendable {
  private let recorder: RecordingFileSystem
  private let keys: [RawKey]
  private let open: (RawKey) throws -> SealedFileStore
  private var standing: SealedFileStore?
  private var isLooking = false
  /// What was read, one after the other; the recorder has the moments.
  private(set) var reads: [[String: String]] = []
  /// Why something could not be read.
  private(set) var refusals: Set<StoreError.Code> = []

  /// - Parameters:
  ///   - recorder: Where the store is, and what the reads are noted in.
  ///   - keys: What may open the store.
  ///   - random: For what a reader settles.
  init(_ recorder: RecordingFileSystem, keys: [RawKey], random: SeededRandom) {
    self.recorder = recorder
    self.keys = keys
    // A writer of this thread holds the lock as long as it is waited for.
    let options = SealedFileStore.Options(lockTimeout: .zero)
    let environment = StoreEnvironment(fileSystem: recorder, random: random)
    open = { key in
      try SealedFileStore.open(
        at: recorder.path, key: key, options: options, environment: environment)
    }
  }

  /// Reads everything, unless it is a reader whose settling made the step.
  func look() {
    guard !isLooking else { return }
    isLooking = true
    defer { isLooking = false }
    if standing == nil { standing = opened() }
    if let standing { read(standing) }
    if let another = opened() { read(another) }
  }

  private func opened() -> SealedFileStore? {
    attempt {
      for key in keys.dropLast() {
        do {
          return try open(key)
        } catch let error as StoreError where error.code == StoreError.wrongKey {
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

  /// Notes what was read, unless that was read before.
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
