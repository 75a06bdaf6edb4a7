package import SealedStore

/// A sealed store, and a description of the key that opened it.
///
/// It does not hold the key itself, so that a passphrase does not stay in memory while a person
/// answers the next question.
package struct OpenStore {
  package let store: SealedFileStore
  /// The key in words: "the key file /x".
  package let keyName: String
  /// The file the key is in, if it is in one.
  package let keyPlace: String?
}
