import SealedStore

/// The columns of bytes as statements read them: the server cuts each off one byte behind the
/// largest length that a writer gives it.
///
/// Someone who writes to the database can put 1 GB into a column, and libpq receives all of it
/// before anyone looks at its length. What is cut off is still too long, and refused for that.
/// The results have no names, so that `ORDER BY` is by the columns themselves, and by their index.
struct ReadColumns {
  /// The prefix of the columns: the name of the table with a dot, or nothing.
  private let table: String

  /// The length of a hash and of a write identifier.
  private static let hashByteCount = 16

  /// What the row of an item with its name takes in an answer: 160 bytes are more than all other
  /// columns have, with the length of each.
  static let maximumNamedRowByteCount = RowOpener.maximumNameByteCount + 160

  init(of table: String = "") {
    self.table = table
  }

  var ns: String { beginning("ns", Self.hashByteCount) }
  var tag: String { beginning("tag", Self.hashByteCount) }
  var write: String { beginning("write", Self.hashByteCount) }
  var nonce: String { beginning("nonce", Sodium.nonceByteCount) }
  var name: String { beginning("name", RowOpener.maximumNameByteCount) }
  var value: String { beginning("value", RowOpener.maximumValueByteCount) }
  var header: String { beginning("bytes", DatabaseHeader.maximumByteCount) }

  private func beginning(_ column: String, _ maximumByteCount: Int) -> String {
    "substring(\(table)\(column) FROM 1 FOR \(maximumByteCount + 1))"
  }
}
