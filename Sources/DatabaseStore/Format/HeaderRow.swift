package import SecretStores

/// The one row of the table `header`, as the server returns it.
package struct HeaderRow: Equatable, Sendable {
  package var format: Int32
  package var number: Int64
  package var leastEpoch: Int32
  package var bytes: [UInt8]

  package init(format: Int32, number: Int64, leastEpoch: Int32, bytes: [UInt8]) {
    self.format = format
    self.number = number
    self.leastEpoch = leastEpoch
    self.bytes = bytes
  }

  /// The MAC at the end of the bytes.
  var mac: [UInt8] { Array(bytes.suffix(DatabaseHeader.macByteCount)) }

  /// Reads the header, and checks that the columns beside it agree with it.
  ///
  /// Nothing in it is trusted before its keys are known.
  ///
  /// - Parameter database: The store as a person would name it.
  /// - Returns: The header, parsed.
  /// - Throws: `unsupportedVersion` when the column says that a newer version made the schema, or
  ///   one before the first release; `corrupt` otherwise.
  package func header(of database: String) throws(StoreError) -> DatabaseHeader {
    // A newer format may have another header altogether, so the column comes first.
    guard format <= Int32(DatabaseFormat.version) else {
      throw StoreError(
        .unsupportedVersion, store: database,
        reason: "the store has format \(format), and this version knows format "
          + "\(DatabaseFormat.version)",
        remedy: "Update this program")
    }
    guard format != 1 else {
      throw StoreError(
        .unsupportedVersion, store: database,
        reason: "the store has format 1, and this version knows format "
          + "\(DatabaseFormat.version) alone",
        remedy: "Migrate its items to a store in a directory with the program that made it, and "
          + "from there to a new store with this one")
    }
    let header: DatabaseHeader
    do throws(DatabaseHeader.Defect) {
      header = try DatabaseHeader(bytes)
    } catch {
      throw error == .damaged
        ? StoreError(
          .corrupt, store: database, reason: "the header is damaged: its checksum is wrong",
          remedy: HeaderFailure.remedy)
        : HeaderFailure.forged(database)
    }
    guard format == Int32(DatabaseFormat.version), number == header.number,
      let least = Epoch(leastEpoch), let first = header.epochs.first?.epoch,
      first...header.written ~= least
    else { throw HeaderFailure.forged(database) }
    return header
  }
}

/// The errors of a header.
enum HeaderFailure {
  static let remedy =
    "Put the row of the table header back from a backup, and find out who can write to the database"

  /// Returns the error for a header that someone without its keys changed.
  static func forged(_ database: String) -> StoreError {
    StoreError(
      .corrupt, store: database,
      reason: "the header was changed by someone without its keys", remedy: remedy)
  }
}
