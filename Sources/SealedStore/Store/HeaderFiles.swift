import SecretStores

/// The header and its copy on disk.
struct HeaderFiles {
  let directory: PrivateDirectory

  /// The content of one of the files.
  enum Content: Equatable {
    case missing
    case defective(Header.Defect)
    case header(Header)

    var header: Header? {
      if case .header(let header) = self { header } else { nil }
    }
  }

  /// Reads one file.
  ///
  /// - Throws: `unsafePermissions`, `accessDenied` or `io`.
  func content(of name: String) throws(StoreError) -> Content {
    guard
      let (content, byteCount) = try directory.read(
        name, maximumByteCount: Header.maximumByteCount)
    else { return .missing }
    do throws(Header.Defect) {
      return .header(try Header(content, byteCount: byteCount))
    } catch {
      return .defective(error)
    }
  }

  /// Reads the header, or its copy when the header is missing or damaged.
  ///
  /// - Throws: `unavailable` when there is no store, `corrupt` when neither can be used,
  ///   `unsupportedVersion`, `unsafePermissions`, `accessDenied` or `io`.
  func read() throws(StoreError) -> (header: Header, isFromCopy: Bool) {
    var primary = try content(of: StoreFile.header)
    if let header = try usable(primary) { return (header, false) }
    let copy = try content(of: StoreFile.headerCopy)
    let hasRemains = copy == .missing ? try hasRemains() : false
    if primary == .missing {
      // Another process may be making the store. The header comes before all that was found since
      // the first look, and is never removed, so that this look finds it.
      primary = try content(of: StoreFile.header)
      if let header = try usable(primary) { return (header, false) }
    }
    if let header = try usable(copy) { return (header, true) }
    guard primary == .missing, copy == .missing else {
      throw corrupt("the header and its copy are damaged")
    }
    guard !hasRemains else { throw corrupt("the header and its copy are missing") }
    throw .noStore(inDirectory: directory.path)
  }

  /// Returns whether there is a store, or the remains of one.
  ///
  /// A creation that was interrupted leaves a journal without records and no header; that is not a
  /// store yet.
  ///
  /// - Throws: `accessDenied` or `io`.
  func isPresent() throws(StoreError) -> Bool {
    for name in [StoreFile.header, StoreFile.headerCopy]
    where try directory.status(of: name) != nil { return true }
    return try hasRemains()
  }

  private func hasRemains() throws(StoreError) -> Bool {
    let journal = try directory.status(of: StoreFile.journal)
    return (journal?.byteCount ?? 0) > JournalHead.byteCount
  }

  /// Returns the header in a file; `nil` when it is missing or was damaged by accident.
  ///
  /// A header that was changed on purpose is an error: its copy is not used, because that could be
  /// an older one.
  private func usable(_ content: Content) throws(StoreError) -> Header? {
    switch content {
    case .header(let header): return header
    case .missing, .defective(.damaged): return nil
    case .defective(.forged):
      throw corrupt("the header was changed by someone without its keys")
    case .defective(.unsupportedVersion(let version)):
      throw StoreError(
        .unsupportedVersion, store: directory.path,
        reason: "the store has format version \(version), but this program supports version "
          + "\(Header.formatVersion)",
        remedy: "Use a newer version of the program")
    }
  }

  /// Writes the header.
  ///
  /// From then on it counts, whatever happens to the copy.
  ///
  /// - Throws: `accessDenied`, `noSpace` or `io`, and nothing was changed; `outcomeUnknown`.
  func write(_ header: Header, headerKey: KeyBytes) throws(StoreError) {
    try directory.replace(
      StoreFile.header, with: header.encoded(headerKey: headerKey))
  }

  /// Writes the copy, after the header.
  ///
  /// - Throws: As ``write(_:headerKey:)``.
  func writeCopy(_ header: Header, headerKey: KeyBytes) throws(StoreError) {
    try directory.replace(
      StoreFile.headerCopy, with: header.encoded(headerKey: headerKey))
  }

  private func corrupt(_ reason: String) -> StoreError {
    StoreError(
      .corrupt, store: directory.path, reason: reason,
      remedy: "Put both files back from a backup; without them no key opens the store")
  }
}
