import DatabaseStore
import SealedStore
import SessionToolsBase

/// A sealed store, and a description of the key that opened it.
///
/// It does not hold the key itself, so that a passphrase does not stay in memory while a person
/// answers the next question.
struct OpenStore<Store> {
  let store: Store
  /// The key in words: "the key file /x".
  let keyName: String
  /// The file the key is in, if it is in one.
  let keyPlace: String?
}

/// A sealed store that the command line names, before it is opened.
enum SealedPlace {
  case directory(path: String)
  case database(DatabaseAccess)

  /// The store, as messages name it.
  var name: String {
    switch self {
    case .directory(let path): path
    case .database(let access): access.name
    }
  }

  /// How a command line names the store.
  var words: [String] {
    switch self {
    case .directory(let path): [path]
    case .database(let access): access.words
    }
  }

  /// The store's directory, if it is in one.
  var path: String? {
    if case .directory(let path) = self { path } else { nil }
  }

  /// Returns the key slots, which need no key.
  ///
  /// - Throws: As `SealedFileStore.keySlots(at:)` and `SealedDatabaseStore.keySlots(at:options:)`.
  func keySlots() throws(StoreError) -> [KeySlot] {
    switch self {
    case .directory(let path): try SealedFileStore.keySlots(at: path)
    case .database(let access): try access.inspector.header().keySlots
    }
  }

  /// Returns the store's identifier, which needs no key.
  ///
  /// - Throws: As ``keySlots()``.
  func identifier() throws(StoreError) -> String {
    switch self {
    case .directory(let path): try SealedFileStore.identifier(at: path)
    case .database(let access): try access.inspector.header().store.bytes.hexadecimal
    }
  }

  /// Returns whether the store may open with a key after a change that failed.
  func mayOpen(with key: KeyFile) -> Bool {
    switch self {
    case .directory(let path):
      do throws(StoreError) {
        _ = try SealedFileStore.open(at: path, key: key)
        return true
      } catch {
        return error.code != .wrongKey && !SealedFileStore.isAbsent(at: path)
      }
    case .database(let access): return access.mayOpen(with: key)
    }
  }
}
