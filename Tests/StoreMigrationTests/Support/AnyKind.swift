import Foundation
import SealedStore
import SessionToolsBase
import StoreTestSupport
import TestSupport

/// The stores that migrations go between here.
enum StoreKind: CaseIterable {
  case sealed, memory

  /// Every way from one to another, and back.
  static let pairs = allCases.flatMap { first in allCases.map { (first, $0) } }
}

/// An empty store that goes with the test.
final class TestStore: Sendable {
  let store: any MigratableStore
  /// What a sealed one opens with.
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

  /// Changes a byte in the name of the newest record of a sealed one.
  func damageLastRecord() throws {
    var bytes = try Data(contentsOf: URL(filePath: path(of: "journal")))
    bytes[try journalByteCount - 120] ^= 1
    try bytes.write(to: URL(filePath: path(of: "journal")))
  }

  /// How long the journal of a sealed one is without its reserve.
  var journalByteCount: Int {
    get throws { try RecordedDisk.read(directory["store"])["journal"]?.count ?? 0 }
  }

  /// A sealed one, opened again.
  func opened() throws -> SealedFileStore {
    try SealedFileStore.open(at: directory["store"], key: key)
  }

  /// A file of a sealed store.
  func path(of file: String) -> String { directory["store/\(file)"] }

  func contents() throws -> Contents {
    var contents: Contents = [:]
    for key in try store.keys(in: nil) { contents[key] = try store.value(for: key) }
    return contents
  }
}
