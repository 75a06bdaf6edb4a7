import CSessionToolsPQ
import SealedStore
package import SecretStores

/// What a server answered to a statement: rows in binary form, or an error.
///
/// The memory is written by libpq before this object exists and only read after that, which makes
/// the unchecked conformance true.
@safe package final class DatabaseAnswer: @unchecked Sendable {
  /// What became of a statement.
  enum Outcome {
    case done
    /// The server reported an error.
    case failed(SQLState)
    /// The server reported an error and closes the connection.
    case ended(SQLState)
    /// The connection broke, or what arrived is no answer to a statement.
    case broken
  }

  private let pointer: OpaquePointer
  package let rowCount: Int
  private let columnCount: Int

  /// Takes over a result of libpq.
  init(taking pointer: OpaquePointer) {
    unsafe self.pointer = pointer
    rowCount = Int(unsafe PQntuples(pointer))
    columnCount = Int(unsafe PQnfields(pointer))
  }

  deinit {
    unsafe PQclear(pointer)
  }

  /// How much memory the answer takes, which is more than its bytes took on the way.
  var memoryByteCount: Int { Int(unsafe PQresultMemorySize(pointer)) }

  var outcome: Outcome {
    switch unsafe PQresultStatus(pointer) {
    case PGRES_TUPLES_OK:
      // Without a column, libpq takes rows for text.
      let isBinary = unsafe PQbinaryTuples(pointer) == 1
      return isBinary || columnCount == 0 ? .done : .broken
    case PGRES_COMMAND_OK: return .done
    case PGRES_FATAL_ERROR:
      // An error of libpq itself has no code.
      guard let state = unsafe session_tools_pq_state(pointer),
        let state = SQLState(received: unsafe String(cString: state))
      else { return .broken }
      let severity = unsafe session_tools_pq_severity(pointer).map { unsafe String(cString: $0) }
      return severity == "ERROR" ? .failed(state) : .ended(state)
    default: return .broken
    }
  }

  /// Whether there is a value that is not NULL.
  func isPresent(_ row: Int, _ column: Int) -> Bool {
    guard (0..<rowCount).contains(row), (0..<columnCount).contains(column) else { return false }
    return unsafe PQgetisnull(pointer, Int32(row), Int32(column)) == 0
  }

  /// Calls a closure with a value; `nil` when it is NULL, or there is no such column.
  package func withBytes<Result>(
    _ row: Int, _ column: Int, _ body: (UnsafeRawBufferPointer) -> Result
  ) -> Result? {
    guard (0..<rowCount).contains(row), (0..<columnCount).contains(column) else { return nil }
    let (row, column) = (Int32(row), Int32(column))
    guard unsafe PQgetisnull(pointer, row, column) == 0,
      let start = unsafe PQgetvalue(pointer, row, column)
    else { return nil }
    defer { withExtendedLifetime(self) {} }
    let count = Int(unsafe PQgetlength(pointer, row, column))
    return unsafe body(UnsafeRawBufferPointer(start: start, count: count))
  }

  /// Returns an integer of exactly this size; `nil` when the value is another one.
  package func integer<Value: FixedWidthInteger & BitwiseCopyable>(
    _ type: Value.Type, _ row: Int, _ column: Int
  ) -> Value? {
    unsafe withBytes(row, column) { bytes in
      guard bytes.count == MemoryLayout<Value>.size else { return nil as Value? }
      return unsafe Value(bigEndian: bytes.loadUnaligned(as: type))
    } ?? nil
  }

  /// Returns a truth value; `nil` when the value is another one.
  package func bool(_ row: Int, _ column: Int) -> Bool? {
    integer(UInt8.self, row, column).map { $0 != 0 }
  }

  /// Returns a copy of a value; `nil` when it is NULL, or there is no such column.
  package func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
    unsafe withBytes(row, column) { unsafe Array($0) }
  }

  /// Returns a value of exactly 16 bytes; `nil` when it is another one.
  func bytes16(_ row: Int, _ column: Int) -> Bytes16? {
    unsafe withBytes(row, column) { bytes in
      guard bytes.count == 16 else { return nil as Bytes16? }
      return unsafe Bytes16(
        low: UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self)),
        high: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self)))
    } ?? nil
  }

  /// Returns a copy of a value in a buffer of its own, in which it can be opened.
  package func buffer(_ row: Int, _ column: Int, isSecret: Bool) -> ByteBuffer? {
    unsafe withBytes(row, column) { bytes in
      let buffer = ByteBuffer(unwrittenByteCount: bytes.count, isSecret: isSecret)
      unsafe UnsafeMutableRawBufferPointer(
        start: buffer.pointer(to: 0..<bytes.count), count: bytes.count
      ).copyMemory(from: bytes)
      return buffer
    }
  }

  /// Returns a text; `nil` when the value is not UTF-8.
  package func text(_ row: Int, _ column: Int) -> String? {
    unsafe withBytes(row, column) { unsafe String(validating: $0, as: UTF8.self) } ?? nil
  }
}
