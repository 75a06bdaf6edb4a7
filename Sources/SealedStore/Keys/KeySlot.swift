/// One of the 1 to 16 ways to open a store, as it can be listed without any key.
public struct KeySlot: Hashable, Sendable {
  /// The largest number of slots in a store.
  public static let maximumCount = 16

  /// The number of the slot, from 1; when a slot is removed, those behind it move up.
  public let number: Int
  /// The kind of key that opens the slot; `nil` for a kind that only a newer version knows.
  public let parameters: Parameters?

  package init(number: Int, parameters: Parameters?) {
    self.number = number
    self.parameters = parameters
  }

  /// The label that a person gave it; empty when it has none.
  package var label: String {
    switch parameters {
    case .rawKey(let label): label
    case .namedKey(let reference): ReferencedKey(reference).label ?? ""
    case .passphrase, nil: ""
    }
  }
}

extension KeySlot {
  /// The kind of key that opens a slot, and the data that is needed in addition to the secret
  /// itself.
  public enum Parameters: Hashable, Sendable {
    /// 32 bytes that the caller has, from a key file, a credential or elsewhere.
    case rawKey(label: String)
    /// A passphrase.
    case passphrase(Passphrase.Parameters)
    /// 32 bytes that are kept elsewhere under a name.
    case namedKey(reference: String)
  }
}

extension Passphrase {
  /// The parameters that turn a passphrase into a key: Argon2id 1.3 with one lane (RFC 9106).
  public struct Parameters: Hashable, Sendable {
    /// The length of a salt in bytes.
    public static let saltByteCount = 16

    /// The number of passes over the memory.
    public let passes: Int
    /// The memory that is used, in bytes; a multiple of 1,024.
    public let memoryByteCount: Int
    /// 16 random bytes that make equal passphrases give different keys.
    public let salt: [UInt8]

    /// Creates parameters.
    ///
    /// - Precondition: Passes and memory in KiB are not negative and fit 32 bits; the salt has
    ///   16 bytes.
    public init(passes: Int, memoryByteCount: Int, salt: [UInt8]) {
      precondition(UInt32(exactly: passes) != nil, "passes fit 32 bits")
      precondition(UInt32(exactly: memoryByteCount / 1024) != nil, "memory in KiB fits 32 bits")
      precondition(salt.count == Self.saltByteCount, "a salt has 16 bytes")
      self.passes = passes
      self.memoryByteCount = memoryByteCount / 1024 * 1024
      self.salt = salt
    }
  }
}

extension KeySlot.Parameters: CustomStringConvertible {
  /// A description in one line, for people.
  public var description: String {
    switch self {
    // The labels of this library's key sources say what the key is; others say whose it is.
    case .rawKey("key file"): "key file"
    case .rawKey(let label) where label.hasPrefix("systemd credential "): label
    case .rawKey(let label): label.isEmpty ? "key" : "key (\(label))"
    case .passphrase(let parameters):
      "passphrase (Argon2id, \(parameters.memoryByteCount >> 20) MiB, "
        + "\(parameters.passes) \(parameters.passes == 1 ? "pass" : "passes"))"
    case .namedKey(let reference):
      ReferencedKey(reference).description(of: reference)
    }
  }
}
