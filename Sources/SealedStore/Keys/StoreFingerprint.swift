public import SecretStores

/// A value that distinguishes a store from every other one, and that only a holder of its keys can
/// compute.
///
/// Everyone who knows the public key of a ``Recipient`` can make a store that its secret key opens.
/// The fingerprint is how a ``RecipientKey`` knows the store that is meant from such a forgery:
///
/// ```swift
/// let fingerprint = try store.fingerprint()
/// // On the machine that has the secret key:
/// let key = RecipientKey(path, expecting: fingerprint)
/// ```
///
/// It is not secret, and says nothing about the keys. A rotation keeps it; a revocation changes it,
/// because the store has another store key then.
///
/// Its bytes are `HASH-16(subkey 7 of the store key, store id)`, as the article <doc:FileFormat>
/// defines these functions. To find other keys with the same fingerprint takes about 2^128
/// attempts.
public struct StoreFingerprint: Hashable, Sendable, CustomStringConvertible {
  private static let byteCount = 16
  private static let texts = CheckedText(prefix: "st-store-", byteCount: byteCount)

  private let bytes: [UInt8]

  /// Computes the fingerprint of a store.
  ///
  /// - Throws: `unavailable` when the system gives no memory.
  package init(of store: StoreIdentifier, storeKey: KeyBytes) throws(StoreError) {
    let subkey = try KeyBytes()
    Sodium.derive(7, from: storeKey, into: subkey)
    let buffer = ByteBuffer(byteCount: Self.byteCount)
    store.bytes.store(in: buffer, at: 0)
    Sodium.hash16(buffer, 0..<Self.byteCount, key: subkey).store(in: buffer, at: 0)
    bytes = buffer.bytes(0..<Self.byteCount)
  }

  /// Reads the text of a fingerprint.
  ///
  /// - Parameter text: `st-store-` and 27 characters, as ``text`` has it.
  /// - Throws: `invalidKey` when this is not the text of a fingerprint, or a character of it was
  ///   changed.
  public init(_ text: String) throws(StoreError) {
    do throws(CheckedText.Defect) {
      bytes = try Self.texts.decode(text)
    } catch {
      throw Self.invalid(
        error == .changed
          ? "the fingerprint was changed: its last characters do not fit"
          : "this is not the fingerprint of a store")
    }
  }

  /// The text, 36 characters: `st-store-` and, in base64url without padding,
  /// `fingerprint 16 ‖ the first 4 bytes of HASH-16(no key, fingerprint)`.
  public var text: String { Self.texts.encode(bytes) }

  /// The text.
  public var description: String { text }

  private static func invalid(_ reason: String) -> StoreError {
    StoreError(
      .invalidKey, store: "fingerprint", reason: reason,
      remedy: "Copy the whole text, which begins with \(texts.prefix)")
  }
}

extension StoreFingerprint {
  /// Checks that a store is the one that is expected, before anything of it is used that a key
  /// opened which opens stores of others, too.
  ///
  /// - Parameters:
  ///   - expected: The fingerprint that is expected; `nil` when none is known.
  ///   - store: The store as a person would name it.
  /// - Throws: `wrongStore` when another fingerprint is expected, or none.
  package func check(against expected: StoreFingerprint?, of store: String) throws(StoreError) {
    guard let expected else {
      throw StoreError(
        .wrongStore, store: store,
        reason: "the recipient's key opens it, and so it opens a store that anyone with the "
          + "public key has made; its fingerprint is \(self)",
        remedy: "Compare this with the fingerprint that was shown where the store was made. If it "
          + "is the same, say that it is expected")
    }
    guard self == expected else {
      throw StoreError(
        .wrongStore, store: store,
        reason: "its fingerprint is \(self), but \(expected) is expected: its keys were revoked "
          + "since, or someone put a store of their own in its place",
        remedy: "Ask those who have another key of the store for its fingerprint; do not store "
          + "anything in it before")
    }
  }
}
