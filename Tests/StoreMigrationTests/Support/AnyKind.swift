import Foundation
import SealedStore
import SessionToolsBase
import SessionToolsStoreTestSupport
import SessionToolsTestSupport

/// The kinds of stores in these migrations.
enum StoreKind: CaseIterable {
  case sealed, memory

  /// All pairs of a source and a target.
  static let pairs = allCases.flatMap { first in allCases.map { (first, $0) } }
}

/// An empty store that is removed with the test.
final class TestStore: Sendable {
  let store: any MigratableStore
  /// The key of a sealed store.
  let key: KeyFile
  private let directory: TemporaryDirectory

  init(_ kind: StoreKind) throws {
    directory = try TemporaryDirectory()
    key = try KeyFile.create(at: directory["key"])
    store =
      switch kind {
      case .memory: MemoryStore()
      case .sealed: try SealedFileStore.create(at: directory["store"], key: key)
      }
  }

  /// Changes a byte in the value of the newest record of a sealed store.
  func damageLastRecord() throws {
    var bytes = try Data(contentsOf: URL(filePath: path(of: "journal")))
    bytes[try journalByteCount - 40] ^= 1
    try bytes.write(to: URL(filePath: path(of: "journal")))
  }

  /// The length of a sealed store's journal without its reserve.
  var journalByteCount: Int {
    get throws { try RecordedDisk.read(directory["store"])["journal"]?.count ?? 0 }
  }

  /// Reopens a sealed store.
  func opened() throws -> SealedFileStore {
    try SealedFileStore.open(at: directory["store"], key: key)
  }

  /// Returns the path of a file of a sealed store.
  func path(of file: String) -> String { directory["store/\(file)"] }

  func contents() throws -> Contents {
    var contents: Contents = [:]
    for name in try store.names(in: nil) { contents[name] = try store.value(for: name) }
    return contents
  }
}
