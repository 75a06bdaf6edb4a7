/// What a store can do, and what protects it.
public struct StoreTraits: Hashable, Sendable {
  /// Whether a list of changes is applied all or nothing, also across a crash.
  public let isAtomic: Bool
  /// Whether a change that returned is still there after a power cut.
  public let isDurable: Bool
  /// Whether changes made by other processes are read and reported by the change stream.
  public let seesOtherProcesses: Bool
  /// Whether exclusive access to a name holds against other processes.
  public let excludesOtherProcesses: Bool
  /// The largest value it takes, in bytes.
  public let largestValueByteCount: Int
  /// What protects the values at rest, in one line for a person.
  public let protection: String
  /// The least that someone with the disk needs besides it; `nil` when nothing is on a disk, or
  /// the store cannot tell.
  public let atRest: AtRestProtection?
  /// Whether every change is refused.
  public let isReadOnly: Bool

  /// States what a store can do.
  public init(
    isAtomic: Bool, isDurable: Bool, seesOtherProcesses: Bool, excludesOtherProcesses: Bool,
    largestValueByteCount: Int, protection: String, atRest: AtRestProtection? = nil,
    isReadOnly: Bool = false
  ) {
    self.isAtomic = isAtomic
    self.isDurable = isDurable
    self.seesOtherProcesses = seesOtherProcesses
    self.excludesOtherProcesses = excludesOtherProcesses
    self.largestValueByteCount = largestValueByteCount
    self.protection = protection
    self.atRest = atRest
    self.isReadOnly = isReadOnly
  }
}

/// What someone who has the disk needs besides it to read the values of a store, the least first.
public enum AtRestProtection: Int, Codable, Comparable, Sendable {
  /// Nothing else: they are there as they are.
  case nothing
  /// A key that is in a file, perhaps on the same disk.
  case keyFile
  /// The password of a keyring, which a login may have given it.
  case keyring
  /// A passphrase that nothing keeps.
  case passphrase

  /// Whether the left one takes less.
  public static func < (left: AtRestProtection, right: AtRestProtection) -> Bool {
    left.rawValue < right.rawValue
  }
}
