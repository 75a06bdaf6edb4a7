import CSessionToolsLinux
import SecretStores

/// The state of an unlocked store: its keys, its header, its mark, and its journal up to where it
/// counted at the last look.
struct OpenState {
  enum Journal {
    case usable(JournalView)
    // Indirect, so that a copy, which every read makes, is only a reference.
    indirect case unusable(StoreError)
  }

  var header: Header
  var keys: KeyRing
  /// The number of the slot that opened the store, if a slot was used.
  var slot: Int?
  /// The journal, or the error for which it cannot be used.
  var journal: Journal
  /// The mark, if there is one of the right length.
  var mark: OpenMark?
  /// The furthest mark that was seen; the store never goes back behind it.
  var furthest: Mark?
  /// Whether the journal belongs to `header.next`: a rotation was interrupted after the moment
  /// it counted, and the next writer finishes it.
  var isRotationPending = false
  /// Whether the header had to be read from its copy.
  var isHeaderFromCopy = false
  /// Whether this process is replacing the journal that it has open.
  ///
  /// Its readers use the old journal until that is done.
  var isReplacingJournal = false
  private var namesChecked = CoarseInstant.now

  /// The time between two checks of a reader whether the names still lead to the open files.
  private static let nameCheckNanoseconds: Int64 = 100_000_000

  init(
    header: Header, keys: KeyRing, slot: Int?, journal: Journal, mark: OpenMark?
  ) {
    self.header = header
    self.keys = keys
    self.slot = slot
    self.journal = journal
    self.mark = mark
  }

  /// Makes the next look check whether the names still lead to the open files.
  mutating func expectOtherFiles() {
    namesChecked = .distantPast
  }

  /// Whether something is wrong, which may be only because others wrote meanwhile.
  var isInDoubt: Bool {
    switch journal {
    case .usable(let view): view.damage != nil
    case .unusable: true
    }
  }

  /// Brings the journal up to date with the mark, whichever process wrote it.
  ///
  /// - Parameters:
  ///   - loader: The loader that reads the files again if that is needed.
  ///   - hold: The caller's hold of the writer's lock.
  /// - Returns: Whether that was possible; `false` when it needs the lock.
  /// - Throws: `corrupt`, `unsafePermissions`, `accessDenied` or `io`.
  @inline(__always)
  mutating func refresh(
    from loader: StoreLoader, holding hold: WriterHold = .none
  ) throws(StoreError) -> Bool {
    if hold == .none, !isReplacingJournal, case .usable(let view) = journal, !view.isDamaged,
      let mark, !areNamesDue(at: .now), try mark.isUnchanged()
    {
      return true
    }
    return try refreshByChecking(from: loader, holding: hold)
  }

  /// Does the same when more than the mark must be looked at.
  private mutating func refreshByChecking(
    from loader: StoreLoader, holding hold: WriterHold
  ) throws(StoreError) -> Bool {
    if isReplacingJournal { return true }
    guard case .usable(let view) = journal else {
      return try reload(with: loader, holding: hold)
    }
    if view.isDamaged {
      let isSame = try isSameDamage(view, loader)
      return isSame ? true : try reload(with: loader, holding: hold)
    }
    guard let mark, try areNamesCurrent(view, mark, loader, hold) else {
      return try reload(with: loader, holding: hold)
    }
    if try !mark.isUnchanged() {
      guard try follow(mark, view) else { return try reload(with: loader, holding: hold) }
    }
    guard hold != .none else { return true }
    var isIntact = try view.hasOwnEnd()
    if isIntact { isIntact = try view.isVacantBehindEnd() }
    return isIntact ? true : try reload(with: loader, holding: hold)
  }

  /// Returns whether the damaged files are unchanged; if they are not, everything is read again.
  private func isSameDamage(
    _ view: JournalView, _ loader: StoreLoader
  ) throws(StoreError) -> Bool {
    guard let status = try loader.directory.status(of: StoreFile.journal),
      status.isSameFile(as: view.identity), status.byteCount == view.fileByteCount
    else { return false }
    let found = try loader.directory.status(of: StoreFile.mark)
    guard let mark else { return found?.byteCount != Mark.byteCount }
    return mark.isSameFile(as: found) ? try mark.isUnchanged() : false
  }

  /// Returns whether the names lead to the open files; `true` also when no check is due.
  private mutating func areNamesCurrent(
    _ view: JournalView, _ mark: OpenMark, _ loader: StoreLoader, _ hold: WriterHold
  ) throws(StoreError) -> Bool {
    let now = CoarseInstant.now
    guard hold != .none || areNamesDue(at: now) else { return true }
    guard let status = try loader.directory.status(of: StoreFile.journal),
      status.isSameFile(as: view.identity), status.byteCount >= view.end.byteCount,
      mark.isSameFile(as: try loader.directory.status(of: StoreFile.mark))
    else { return false }
    view.fileByteCount = status.byteCount
    namesChecked = now
    return true
  }

  private func areNamesDue(at now: CoarseInstant) -> Bool {
    now.isLater(than: namesChecked, byNanoseconds: Self.nameCheckNanoseconds)
  }

  /// Advances to a mark that another process wrote; `false` when it is not for this journal, or the
  /// journal does not reach it.
  private mutating func follow(_ open: OpenMark, _ view: JournalView) throws(StoreError) -> Bool {
    guard let mark = open.changed(chainKey: keys.chainKey), mark.journal == view.head.journal,
      mark.byteCount >= view.end.byteCount
    else { return false }
    view.fileByteCount = max(view.fileByteCount, mark.byteCount)
    do throws(StoreError) {
      if let found = try view.advance(to: .mark(mark), keys: keys) {
        // A part of the change that breaks off may be in the index, and must not count.
        journal = .unusable(
          StoreError(.corrupt, store: "journal", reason: found.reason))
        return false
      }
    } catch {
      // Records that were read before the error may be in the index, and must not count.
      journal = .unusable(error)
      throw error
    }
    open.take()
    furthest = mark
    return true
  }

  /// Takes the header that is on disk now, whose slots another process may have changed.
  ///
  /// - Throws: `corrupt` when the journal does not belong to it, `unsafePermissions`,
  ///   `accessDenied` or `io`.
  mutating func refreshHeader(from loader: StoreLoader) throws(StoreError) {
    let path = loader.directory.path
    let onDisk = try HeaderFiles(directory: loader.directory).read().header
    let opened = try StoreUnlocking.open(onDisk, by: .keys(keys), path: path)
    guard try usableJournal().head.belongs(to: onDisk, opened.keys) else {
      throw StoreError(
        .corrupt, store: path, reason: "the journal does not belong to the header",
        remedy: "Put header and header.copy back from a backup")
    }
    header = onDisk
  }

  /// Reads everything again with the present keys.
  ///
  /// - Returns: Whether that was possible; `false` when it needs the lock.
  /// - Throws: As ``StoreLoader/load(_:holding:after:)``.
  @discardableResult
  mutating func reload(
    with loader: StoreLoader, holding hold: WriterHold
  ) throws(StoreError) -> Bool {
    var search = KeySearch(by: .keys(keys), slot: slot)
    guard
      let loaded = try loader.load(
        &search, holding: hold, after: LastSeen(furthest: furthest, mark: mark?.seenBytes))
    else { return false }
    self = loaded
    return true
  }

  /// Returns the journal if it can be read.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  func usableJournal() throws(StoreError) -> JournalView {
    switch journal {
    case .usable(let view): return view
    case .unusable(let error): throw error
    }
  }

  /// Returns the journal if it can be written and listed.
  ///
  /// - Throws: `corrupt` or `unsupportedVersion`.
  func soundJournal(in directory: PrivateDirectory) throws(StoreError) -> JournalView {
    let view = try usableJournal()
    if let damage = view.damage { throw damage.error(in: directory) }
    return view
  }
}

/// A caller's hold of the writer's lock.
enum WriterHold {
  case none
  /// Shared with others that only read.
  case shared
  case exclusive
}

/// The open mark of a store, and the bytes that were read from it last.
///
/// It is only used under the lock of the store's state. This makes the unchecked conformance
/// correct.
final class OpenMark: @unchecked Sendable {
  let file: OpenFile
  private let identity: FileStatus
  // These buffers are refilled and never replaced: a `var` would be retained for every read.
  /// The bytes that were seen last.
  let seen = ByteBuffer(byteCount: Mark.byteCount)
  /// The bytes that ``isUnchanged()`` read, or that are being written.
  private let current = ByteBuffer(byteCount: Mark.byteCount)
  private var currentByteCount = 0

  /// Reads the mark; `nil` when there are not exactly 64 bytes.
  ///
  /// - Throws: `io`.
  init?(_ file: OpenFile) throws(StoreError) {
    self.file = file
    identity = try file.status()
    let count = try file.read(at: 0, into: seen, 0..<Mark.byteCount)
    guard identity.byteCount == Mark.byteCount, count == Mark.byteCount else { return nil }
  }

  /// Returns whether the mark still has the bytes that were seen last.
  ///
  /// - Throws: `io`.
  func isUnchanged() throws(StoreError) -> Bool {
    currentByteCount = try file.read(at: 0, into: current, 0..<Mark.byteCount)
    return currentByteCount == Mark.byteCount && current.isEqual(0..<Mark.byteCount, seen)
  }

  /// Returns the mark that ``isUnchanged()`` read; `nil` when the chain key did not make it.
  func changed(chainKey: KeyBytes) -> Mark? {
    currentByteCount == Mark.byteCount ? Mark(current, chainKey: chainKey) : nil
  }

  /// Takes the bytes that were read or written as the ones seen last.
  func take() {
    seen.copy(current, 0..<Mark.byteCount, to: 0)
  }

  /// A copy of the bytes that were seen last.
  var seenBytes: [UInt8] { seen.bytes(0..<Mark.byteCount) }

  /// Returns whether a file is the open one, and still has its length.
  func isSameFile(as status: FileStatus?) -> Bool {
    guard let status else { return false }
    return status.isSameFile(as: identity) && status.byteCount == Mark.byteCount
  }

  /// Takes a mark that is about to be written durably as the one seen last.
  func take(_ mark: Mark, chainKey: KeyBytes) {
    mark.encode(into: seen, chainKey: chainKey)
  }

  /// Overwrites the mark.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`.
  func write(_ mark: Mark, chainKey: KeyBytes) throws(StoreError) {
    mark.encode(into: current, chainKey: chainKey)
    try file.write(current, 0..<Mark.byteCount, at: 0)
    take()
  }

  /// Makes a mark durable.
  ///
  /// The mark is written again, because after a failed sync the kernel marks the page as clean: a
  /// sync alone would do nothing. Do not call this under the lock of the state: it takes as long as
  /// the disk.
  ///
  /// - Throws: `noSpace`, `accessDenied` or `io`.
  static func writeDurably(_ bytes: [UInt8], to file: OpenFile) throws(StoreError) {
    try file.write(ByteBuffer(bytes), 0..<Mark.byteCount, at: 0)
    try file.synchronize()
  }

  /// The digest of this mark, for the head of a journal that replaces the marked one.
  var digest: MarkDigest { MarkDigest(of: seen) }
}

/// A moment, accurate to a few milliseconds, that costs nanoseconds to read.
private struct CoarseInstant {
  private let nanoseconds: Int64

  /// A moment earlier than any other by more than any interval.
  static let distantPast = CoarseInstant(nanoseconds: .min / 2)

  static var now: CoarseInstant {
    CoarseInstant(nanoseconds: session_tools_coarse_time())
  }

  /// Returns whether the moment is later than another by at least an interval.
  func isLater(than other: CoarseInstant, byNanoseconds interval: Int64) -> Bool {
    nanoseconds - other.nanoseconds >= interval
  }
}
