public import SecretStores

/// A record of how far a store was written, to be kept where no one who can write the store's files
/// can write.
///
/// Anyone who can write the files can put a whole store back to an older state, and no file in it
/// shows that. An anchor in a TPM, on a server or under another user's account does.
///
/// ```swift
/// options.anchor = StoreAnchor.Keeper(
///   load: { try vault.anchor().map(StoreAnchor.init(bytes:)) },
///   save: { try vault.setAnchor($0.bytes) })
/// ```
///
/// It has the store's identifier and the identifier, length, version and chain value of its
/// journal, or of two journals while one replaces the other. None of this is secret.
public struct StoreAnchor: Hashable, Sendable {
  /// Closures that load and save the anchor of one store.
  ///
  /// Both may be called on any thread while the store is at work, so do not call the store from
  /// them. Every process that opens the store must be able to load the newest anchor.
  public struct Keeper: Sendable {
    let load: @Sendable () throws -> StoreAnchor?
    let save: @Sendable (StoreAnchor) throws -> Void

    /// Creates a keeper.
    ///
    /// - Parameters:
    ///   - load: Returns the anchor that was saved last; `nil` when none was ever saved. Called
    ///     whenever the journal is read from its start. When it throws, the store is not opened.
    ///   - save: Saves an anchor, which is durable when this returns. Called by every change before
    ///     the change returns, and before a new journal replaces the old one.
    public init(
      load: @escaping @Sendable () throws -> StoreAnchor?,
      save: @escaping @Sendable (StoreAnchor) throws -> Void
    ) {
      self.load = load
      self.save = save
    }
  }

  let store: StoreIdentifier
  /// One mark; two while a journal replaces another.
  let marks: [Mark]

  init(store: StoreIdentifier, marks: [Mark]) {
    self.store = store
    self.marks = marks
  }

  /// Reads an anchor from its bytes.
  ///
  /// - Throws: `corrupt` when they are not those of an anchor.
  public init(bytes: [UInt8]) throws(StoreError) {
    let markByteCount = Mark.unsignedByteCount
    guard bytes.count == 16 + markByteCount || bytes.count == 16 + 2 * markByteCount else {
      throw StoreError(
        .corrupt, store: "anchor",
        reason: "\(bytes.count) bytes are not the anchor of a store",
        remedy: "Pass the bytes that were saved")
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

  /// The number of changes made to the store.
  public var version: UInt64 { marks.last?.version ?? 0 }
}

extension StoreAnchor.Keeper {
  /// Loads the anchor that was saved last.
  ///
  /// - Throws: The keeper's error, as `unavailable` when it is not a `StoreError`: a store whose
  ///   anchor cannot be read is not opened without it.
  func anchor(path: String) throws(StoreError) -> StoreAnchor? {
    do {
      return try load()
    } catch {
      throw Self.storeError(error, "the store's anchor could not be read", path: path)
    }
  }

  /// Saves an anchor.
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
    // `outcomeUnknown` would be mistaken for an error of the store itself.
    if let error = error as? StoreError, error.code != .outcomeUnknown { return error }
    // The error's text is not under this library's control, and may contain more than a log should.
    return StoreError(
      .unavailable, store: path, reason: "\(what): \(type(of: error))",
      remedy: "Check the place where the program keeps the anchor")
  }
}
