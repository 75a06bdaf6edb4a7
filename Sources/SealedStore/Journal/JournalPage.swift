/// The pages in which a journal is read.
///
/// Whole pages are read to whole pages: when source and target are a few bytes apart within
/// their pages, some processors copy six times slower.
enum JournalPage {
  static let byteCount = 4096

  /// Returns the beginning of the page that contains a byte.
  static func start(of offset: Int) -> Int { offset & ~(byteCount - 1) }
}
