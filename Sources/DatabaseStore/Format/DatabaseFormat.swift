/// The numbers and letters of format 2 that more than one part of it uses.
package enum DatabaseFormat {
  /// The format's version, in the header's column and in its bytes.
  package static let version: UInt16 = 2

  /// The largest value in bytes: 1 MiB.
  package static let maximumValueByteCount = 1 << 20
  /// The largest number of items in one change.
  package static let maximumChangeCount = 1000
  /// The most bytes of sealed names and values in one change: 16 MiB.
  package static let maximumChangeByteCount = 16 << 20
  /// The bytes of names and values that one change can have before they are sealed: 14 MiB.
  ///
  /// A value gets at most 12 % longer, and a row has less than 256 bytes beside it.
  package static let maximumListByteCount = 14 << 20
  /// The number of rows that a reader asks for at once: with the longest names they have 12 MB, and
  /// an answer takes up to five times as much memory as its bytes.
  static let pageCount = 700
}
