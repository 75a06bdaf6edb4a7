public import SessionToolsBase

/// How far a store is known to have been written, to be kept where nobody who can write the
/// store's files can write as well.
///
/// Whoever can write files can put a whole store back to an older state, which no file in it
/// tells. An anchor in a TPM, on a server or under another user's account does.
///
/// ```swift
/// options.anchor = StoreAnchor.Keeper(
///   load: { try vault.anchor().map(StoreAnchor.init(bytes:)) },
///   save: { try vault.setAnchor($0.bytes) })
/// ```
///
/// It holds the store's identifier and, for its journal, identifier, length, version and chain value,
/// for two journals while one takes the place of the other. Nothing of it is secret.
public struct StoreAnchor: Hashable, Sendable {
  /// Keeps the anchor of one store.
  ///
  /// Both closures may be called on any thread while the store is at work, so do not call the
  /// store from them. The newest anchor has to be there for every process that opens the store.
  public struct Keeper: Sendable {
    let load: @Sendable () throws -> StoreAnchor?
    let save: @Sendable (StoreAnchor) throws -> Void

    /// States how an anchor is kept.
    ///
    /// - Parameters:
    ///   - load: Gives what was saved last; `nil` when nothing ever was. Called whenever the journal
    ///     is read from its start. When it throws, the store is not opened.
    ///   - save: Keeps an anchor, durable when it returns. Called by every change before it returns,
    ///     and before a new journal takes the place of the old one.
    public init(
      load: @escaping @Sendable () throws -> StoreAnchor?,
      save: @escaping @Sendable (StoreAnchor) throws -> Void
    ) {
      self.load = load
      self.save = save
    }
  }

  let store: StoreIdentifier
  /// One; two while a journal takes the place of another.
  let marks: [Mark]

  init(store: StoreIdentifier, marks: [Mark]) {
    self.store = store
    self.marks = marks
  }

  /// Reads an anchor from its bytes.
  ///
  /// - Throws: `corrupt` when they are none.
  public init(bytes: [UInt8]) throws(StoreError) {
    let markByteCount = Mark.unsignedByteCount
    guard bytes.count == 16 + markByteCount || bytes.count == 16 + 2 * markByteCount else {
      throw StoreError(
        StoreError.corrupt, store: "anchor",
        reason: "\(bytes.count) bytes are no anchor of a store",
        remedy: "Give back the bytes that were saved")
    }
    let buffer = ByteBuffer(bytes)
    store = StoreIdentifier(bytes: Bytes16(buffer, at: 0))
    marks = stride(from: 16, to: bytes.count, by: markByteCount).map { Mark(buffer, at: $0) }
  }

  /// The anchor as 64 or 112 bytes.
  public var bytes: [UInt8] {
    let byteCount = 16 + marks.count * Mark.unsignedByteCount
    let buffer = ByteBuffer(byteCount: byteCount)
    store.bytes.store(in: buffer, at: 0)
    for (position, mark) in marks.enumerated() {
      mark.store(in: buffer, at: 16 + position * Mark.unsignedByteCount)
    }
    return buffer.bytes(0..<byteCount)
  }

  /// How many changes were made to the store.
  public var version: UInt64 { marks.last?.version ?? 0 }
}

extension StoreAnchor.Keeper {
  /// What was saved last.
  ///
  /// - Throws: What the keeper throws, as `unavailable` when it is no `StoreError`: a store whose
  ///   anchor cannot be read is not opened without it.
  func anchor(path: String) throws(StoreError) -> StoreAnchor? {
    do {
      return try load()
    } catch {
      throw Self.storeError(error, "the store's anchor could not be read", path: path)
    }
  }

  /// Keeps an anchor.
  ///
  /// - Throws: As ``anchor(path:)``.
  func keep(_ anchor: StoreAnchor, path: String) throws(StoreError) {
    do {
      try save(anchor)
    } catch {
      throw Self.storeError(error, "the store's anchor could not be saved", path: path)
    }
  }

  private static func storeError(_ error: any Error, _ what: String, path: String) -> StoreError {
    // An unknown outcome would be taken for one of the store's own.
    if let error = error as? StoreError, error.code != StoreError.outcomeUnknown { return error }
    // The error's text is its author's, and may say more than a log should hold.
    return StoreError(
      StoreError.unavailable, store: path, reason: "\(what): \(type(of: error))",
      remedy: "Look at what the program keeps the anchor in")
  }
}
