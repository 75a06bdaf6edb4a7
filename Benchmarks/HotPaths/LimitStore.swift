import Foundation
import SessionToolsHotPathLimit

/// A store of `Limit/store.c` that has no files.
final class LimitStore {
  private var store = SessionToolsHotPathLimit.store()
  private var canonical = [UInt8](repeating: 0, count: LARGEST_CANONICAL_BYTES)
  private let canonicalByteCount: Int
  private var tag: [UInt64] = [0, 0]

  init() {
    unsafe store_in_memory(&store)
    let identifier = "item-0000000"
    canonicalByteCount = unsafe canonical_name(&canonical, identifier, identifier.utf8.count)
    unsafe item_tag(&store, canonical, canonicalByteCount, &tag)
  }

  /// A record in memory from `malloc`.
  @safe final class Record {
    fileprivate let bytes: UnsafeMutablePointer<UInt8>
    let byteCount: Int

    fileprivate init(byteCount: Int) {
      // The padding must be zeros.
      unsafe bytes = calloc(byteCount, 1).assumingMemoryBound(to: UInt8.self)
      self.byteCount = byteCount
    }

    deinit { unsafe free(bytes) }
  }

  func seal(_ value: Data) -> Record {
    let record = Record(byteCount: record_bytes(canonicalByteCount, value.count))
    unsafe value.withUnsafeBytes { value in
      unsafe _ = seal_record(
        &store, record.bytes, Int32(KIND_FIRST | KIND_LAST), canonical, canonicalByteCount,
        value.baseAddress?.assumingMemoryBound(to: UInt8.self), value.count)
    }
    return record
  }

  /// Opens the value of a copy of the record, like one that was read from a file.
  func open(_ sealed: Record, valueByteCount: Int) -> Data {
    let record = unsafe malloc(sealed.byteCount).assumingMemoryBound(to: UInt8.self)
    defer { unsafe free(record) }
    unsafe memcpy(record, sealed.bytes, sealed.byteCount)
    var entry = SessionToolsHotPathLimit.entry()
    unsafe memcpy(&entry.number_low, record + 8, 4)
    entry.tag = (tag[0], tag[1])
    entry.record_bytes = UInt32(sealed.byteCount)
    guard let value = unsafe open_record(&store, record, &entry, valueByteCount)
    else { preconditionFailure("the limit exits when a record does not open") }
    return unsafe Data(bytes: value, count: valueByteCount)
  }
}
