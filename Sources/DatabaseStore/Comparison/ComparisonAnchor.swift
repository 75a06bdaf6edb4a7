import Foundation
import SealedStore
import SecretStores

/// What the last comparison of a database found, in a sealed file store on another machine.
///
/// One item has `SSNTDBA1 ‖ time in µs since 1970 8 ‖ header number 8 ‖ number of entries 8`, and
/// others have up to 100,000 entries each, by ascending tag. All are replaced together.
struct ComparisonAnchor {
  struct Head {
    /// When the comparison began.
    let time: Date
    let headerNumber: Int64
    let count: Int
  }

  let store: SealedFileStore
  /// The identifier of the database's store.
  let compared: StoreIdentifier

  private static let magic = UInt64(littleEndianText: "SSNTDBA1")
  private static let headByteCount = 32
  private static let partCount = 100_000

  private func name(_ part: Int?) throws(StoreError) -> ItemName {
    let name = compared.bytes.hexadecimal + (part.map { " \($0)" } ?? "")
    return try ItemName(name, in: StoreNamespace(service: "org.session-tools.audit"))
  }

  /// Reads the head; `nil` when there was no comparison.
  ///
  /// - Throws: As a read of the file store.
  func head() throws(StoreError) -> Head? {
    guard let value = try store.value(for: name(nil)) else { return nil }
    let buffer = ByteBuffer(value.copyBytes())
    guard buffer.byteCount == Self.headByteCount, buffer.load(UInt64.self, at: 0) == Self.magic,
      let count = Int(exactly: buffer.load(UInt64.self, at: 24))
    else { throw damaged }
    let microseconds = buffer.load(Int64.self, at: 8)
    return Head(
      time: Date(timeIntervalSince1970: Double(microseconds) / 1_000_000),
      headerNumber: buffer.load(Int64.self, at: 16), count: count)
  }

  /// Calls a closure with each entry, by ascending tag.
  ///
  /// - Throws: As a read of the file store.
  func forEach(_ head: Head, _ body: (ComparisonEntry) -> Void) throws(StoreError) {
    for part in 0..<Self.partCount(of: head.count) {
      let count = min(Self.partCount, head.count - part * Self.partCount)
      guard let value = try store.value(for: name(part)),
        value.byteCount == count * ComparisonEntry.byteCount
      else { throw damaged }
      let buffer = ByteBuffer(value.copyBytes())
      for number in 0..<count {
        body(ComparisonEntry(buffer, at: number * ComparisonEntry.byteCount))
      }
    }
  }

  /// Replaces everything, all or nothing.
  ///
  /// - Throws: As a change of the file store.
  func replace(
    _ old: Head?, time: Date, headerNumber: Int64, _ entries: [ComparisonEntry]
  ) throws(StoreError) {
    let head = ByteBuffer(byteCount: Self.headByteCount)
    head.store(Self.magic, at: 0)
    head.store(Int64(time.timeIntervalSince1970 * 1_000_000), at: 8)
    head.store(headerNumber, at: 16)
    head.store(UInt64(entries.count), at: 24)
    var changes = [
      StoreChange.put(head.secret(0..<head.byteCount), for: try name(nil))
    ]
    let partCount = Self.partCount(of: entries.count)
    for part in 0..<partCount {
      let entries = entries[(part * Self.partCount)...].prefix(Self.partCount)
      let buffer = ByteBuffer(byteCount: entries.count * ComparisonEntry.byteCount)
      for (number, entry) in entries.enumerated() {
        entry.store(in: buffer, at: number * ComparisonEntry.byteCount)
      }
      changes.append(.put(buffer.secret(0..<buffer.byteCount), for: try name(part)))
    }
    for part in partCount..<max(partCount, Self.partCount(of: old?.count ?? 0)) {
      changes.append(.remove(try name(part)))
    }
    try store.apply(changes)
  }

  private static func partCount(of count: Int) -> Int { (count + partCount - 1) / partCount }

  private var damaged: StoreError {
    StoreError(
      .corrupt, store: "the last comparison",
      reason: "what the last comparison wrote is not complete",
      remedy: "Remove the store that has it, and begin with a first comparison again")
  }
}
