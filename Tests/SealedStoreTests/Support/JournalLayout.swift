/// Where things stand in a journal: numbers from the description of the format, so that no test
/// asks the code that it tests.
enum JournalLayout {
  static let headByteCount = 88
  /// Of a record with a name and a value of at most 64 bytes.
  static let shortRecordByteCount = 232
  /// What such a record says that its value has when it is sealed.
  static let shortValueByteCount: UInt8 = 80

  // Where the parts of a short record begin.
  static let valueLength = 4
  static let number = 8
  static let kind = 16
  static let nonce = 32
  static let chainValue = 56
  static let name = 72
  static let value = 152

  /// Where a record begins when all in front of it are short; the first has number 1.
  static func start(ofRecord number: Int) -> Int {
    headByteCount + (number - 1) * shortRecordByteCount
  }

  /// The records of a journal without its reserve.
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
