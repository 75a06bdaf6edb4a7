/// The layout of a journal.
///
/// The numbers are from the format's description, so that the tests do not use the code under test.
enum JournalLayout {
  static let headByteCount = 88
  /// The length of a record with a name and a value of at most 64 bytes.
  static let shortRecordByteCount = 232
  /// The length of the sealed value in such a record.
  static let shortValueByteCount: UInt8 = 80

  // The offsets of the parts of a short record.
  static let valueLength = 4
  static let number = 8
  static let kind = 16
  static let nonce = 32
  static let chainValue = 56
  static let name = 72
  static let value = 152

  /// Returns the offset of a record if all records before it are short; the first has number 1.
  static func start(ofRecord number: Int) -> Int {
    headByteCount + (number - 1) * shortRecordByteCount
  }

  /// Returns the records of a journal without its reserve.
  static func records(of journal: [UInt8]) -> [[UInt8]] {
    var rest = journal[headByteCount...]
    var records: [[UInt8]] = []
    while !rest.isEmpty {
      let lengths = [rest.prefix(4), rest.dropFirst(4).prefix(4)]
      let byteCount = lengths.reduce(name) { sum, length in
        sum + length.reversed().reduce(0) { $0 << 8 | Int($1) }
      }
      records.append(Array(rest.prefix(byteCount)))
      rest = rest.dropFirst(byteCount)
    }
    return records
  }
}
