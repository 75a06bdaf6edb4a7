import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport

/// A recorded life of a store, with all contents of its files.
struct SplicedLife: Sendable {
  /// The contents of the files at one moment.
  struct Moment: Sendable {
    let files: MemoryFileSystem.Content
    /// The number of the state that the store had then, or was about to have.
    let state: Int
  }

  static let path = "/store"
  static let names = (0..<6).map { "item \($0)" }

  let key: RawKey
  /// Every state that was confirmed, in order.
  private(set) var states: [[String: String]] = []
  private(set) var moments: [Moment] = []

  private let seed: UInt64
  private var choices: SeededGenerator
  private var valueCount = 0
  private var storeCount: UInt64 = 0

  /// An operation on a store.
  private enum Event {
    case put, long, change, remove, compact, rotate, repair
    /// The process dies at any call of a change.
    case die
  }

  private static let events: [Event] = [
    .put, .put, .put, .change, .remove, .put, .compact, .put, .change, .put, .die, .put, .long,
    .compact, .compact, .put, .rotate, .put, .change, .remove, .die, .put, .repair, .put, .put,
    .change, .rotate, .compact, .put, .die, .remove, .repair, .change, .put, .put,
  ]

  init(seed: UInt64) throws {
    self.seed = seed
    choices = SeededGenerator(seed: seed)
    key = try RawKey(SecretBytes(SeededRandom.bytes(32, seed: seed, number: 0)))
    let disk = MemoryFileSystem()
    let recorder = Recorder(disk)
    var store = try SealedFileStore.create(
      at: Self.path, key: key, environment: environment(recorder.recording()))
    // Before that the store did not exist yet.
    _ = recorder.take()
    try note(store, recorder)
    for event in Self.events {
      switch event {
      case .put: try store.put(value(), as: anyName())
      case .long: try store.put(value(of: 700), as: anyName())
      case .change: try store.apply(change())
      case .remove:
        try store.remove(name(store.texts().keys.sorted().randomElement(using: &choices) ?? ""))
      case .compact: try store.compact()
      case .rotate: try store.rotate()
      case .die:
        let dying = try open(recorder.recording(dyingAt: Int.random(in: 1...4, using: &choices)))
        try? dying.apply(change())
        store = try open(recorder.recording())
      case .repair:
        try damage(disk)
        recorder.note()
        store = try open(recorder.recording())
        _ = try store.repair()
      }
      try note(store, recorder)
    }
  }

  /// Opens a store that was made from the pieces.
  func open(_ disk: MemoryFileSystem) throws(StoreError) -> SealedFileStore {
    try SealedFileStore.open(
      at: Self.path, key: key,
      environment: StoreEnvironment(
        fileSystem: disk, random: SeededRandom(seed: seed), repairLease: .zero))
  }

  private mutating func environment(_ disk: FaultyFileSystem) -> StoreEnvironment {
    storeCount += 1
    return StoreEnvironment(
      fileSystem: disk, random: SeededRandom(seed: seed << 8 | storeCount), repairLease: .zero)
  }

  private mutating func open(_ disk: FaultyFileSystem) throws -> SealedFileStore {
    try SealedFileStore.open(at: Self.path, key: key, environment: environment(disk))
  }

  private mutating func value(of byteCount: Int = 8) -> String {
    valueCount += 1
    return "\(valueCount)".padding(to: byteCount)
  }

  private mutating func anyName() throws -> String {
    Self.names.randomElement(using: &choices) ?? ""
  }

  /// Makes a change, usually of several records.
  private mutating func change() throws -> [StoreChange] {
    var changes: [StoreChange] = []
    for identifier in Self.names.shuffled(using: &choices).prefix(4) {
      changes.append(
        Int.random(in: 0..<4, using: &choices) == 0
          ? .remove(try name(identifier)) : .put(secret(value()), for: try name(identifier)))
    }
    return changes
  }

  /// Records a state, and all contents of the files on the way to it.
  private mutating func note(_ store: SealedFileStore, _ recorder: Recorder) throws {
    recorder.note()
    states.append(try store.texts())
    moments += recorder.take().map { Moment(files: $0, state: states.count - 1) }
  }

  /// Damages the nonce of a record.
  private mutating func damage(_ disk: MemoryFileSystem) throws {
    let files = try disk.content(of: Self.path)
    var journal = try required(files["journal"])
    let records = JournalLayout.records(
      of: RecordedDisk.withoutReserve(journal, mark: try required(files["mark"])))
    let count = Int.random(in: 0..<records.count, using: &choices)
    let start = records.prefix(count).reduce(JournalLayout.headByteCount) { $0 + $1.count }
    journal[start + JournalLayout.nonce] ^= 1
    try disk.overwrite("journal", in: Self.path, with: journal)
  }

  private func required<Value>(_ value: Value?) throws -> Value {
    guard let value else { throw StoreError(.corrupt, store: Self.path, reason: "gone") }
    return value
  }
}

/// A recorder of the contents of the files before every call that changes a file.
private final class Recorder: Sendable {
  private let disk: MemoryFileSystem
  private let contents = Locked<[MemoryFileSystem.Content]>([])

  init(_ disk: MemoryFileSystem) {
    self.disk = disk
  }

  /// Returns a file system that records; all changes of files fail from the given call on.
  func recording(dyingAt last: Int? = nil) -> FaultyFileSystem {
    let count = Locked(0)
    return FaultyFileSystem(in: disk) { [self] call in
      guard [.write, .truncate, .rename, .remove, .synchronizeData].contains(call.kind) else {
        return nil
      }
      note()
      guard let last else { return nil }
      let number = count.withLock { count in
        count += 1
        return count
      }
      // The first write may write only a part.
      if number == 1, last == 2, call.kind == .write { return .short(call.byteCount / 3) }
      return number >= last ? .fail(5) : nil
    }
  }

  func note() {
    guard let content = try? disk.content(of: SplicedLife.path) else { return }
    contents.withLock { contents in
      if contents.last != content { contents.append(content) }
    }
  }

  func take() -> [MemoryFileSystem.Content] {
    contents.withLock { contents in
      defer { contents = [] }
      return contents
    }
  }
}

extension String {
  fileprivate func padding(to count: Int) -> String {
    self + String(repeating: ".", count: Swift.max(0, count - self.count))
  }
}

extension MemoryFileSystem {
  /// Changes a file in place, or replaces it by a new file.
  func overwrite(
    _ name: String, in path: String, with bytes: [UInt8], isRenamed: Bool = false
  ) throws(SystemCallError) {
    let directory = try openDirectory(path)
    defer { close(directory) }
    let file =
      isRenamed
      ? try open("spliced", in: directory, .create)
      : try open(name, in: directory, .readWriteOrCreate)
    defer { close(file) }
    try truncate(file, to: bytes.count)
    try writeAll(ByteBuffer(bytes), 0..<bytes.count, to: file, at: 0)
    if isRenamed { try rename("spliced", to: name, in: directory) }
  }
}
