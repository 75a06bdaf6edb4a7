/// The abilities of a store, which do not change while it is open.
public struct StoreTraits: Hashable, Sendable {
  /// Whether a list of changes is applied completely or not at all, also across a crash.
  public let isAtomic: Bool
  /// Whether a change that returned is still there after a power failure.
  public let isDurable: Bool
  /// Whether changes made by other processes can be read and are reported by the change stream.
  public let seesOtherProcesses: Bool
  /// Whether exclusive access to a name holds against other processes.
  public let excludesOtherProcesses: Bool
  /// How long exclusive access lasts without a sign of life of the process; `nil` where it lasts as
  /// long as the process.
  ///
  /// A process that was stopped or cut off for that long has lost its access: the changes that the
  /// closure makes then throw `exclusionLost`.
  public let exclusionLease: Duration?
  /// The size of the largest value the store accepts, in bytes.
  public let maximumValueByteCount: Int
  /// The number of changes that one list of `apply(_:)` can always have, if it is within
  /// ``maximumListByteCount``.
  public let maximumChangeCount: Int
  /// The bytes that the names and values of one list of `apply(_:)` can always have together, if it
  /// is within ``maximumChangeCount``.
  ///
  /// For each change, the value and all parts of the name in UTF-8. A store that refuses lists for
  /// their size as it stores them states a number whose lists it never refuses.
  public let maximumListByteCount: Int
  /// Whether every change is refused.
  public let isReadOnly: Bool

  /// States what a store can do; lists of changes may have any size by default.
  public init(
    isAtomic: Bool, isDurable: Bool, seesOtherProcesses: Bool, excludesOtherProcesses: Bool,
    exclusionLease: Duration? = nil, maximumValueByteCount: Int,
    maximumChangeCount: Int = .max, maximumListByteCount: Int = .max, isReadOnly: Bool = false
  ) {
    self.isAtomic = isAtomic
    self.isDurable = isDurable
    self.seesOtherProcesses = seesOtherProcesses
    self.excludesOtherProcesses = excludesOtherProcesses
    self.exclusionLease = exclusionLease
    self.maximumValueByteCount = maximumValueByteCount
    self.maximumChangeCount = maximumChangeCount
    self.maximumListByteCount = maximumListByteCount
    self.isReadOnly = isReadOnly
  }
}

/// What protects the values of a store at rest.
public struct StoreProtection: Hashable, Sendable, CustomStringConvertible {
  /// The protection in one line, for a person.
  public let description: String
  /// The least that someone with the disk needs to read the values; `nil` when nothing is on a
  /// disk, or the store does not know.
  public let atRest: AtRestProtection?

  /// States what protects the values.
  public init(_ description: String, atRest: AtRestProtection? = nil) {
    self.description = description
    self.atRest = atRest
  }
}

/// What someone with the disk needs to read a store's values, from least to most.
public enum AtRestProtection: Int, Codable, Comparable, Sendable {
  /// Nothing: they are stored unencrypted.
  case nothing
  /// A key in a file, perhaps on the same disk.
  case keyFile
  /// The password of a keyring, which a login may have supplied.
  case keyring
  /// A passphrase that is stored nowhere.
  case passphrase
  /// A secret that is not on the machine's disks: in a security key, or with the
  /// person that it is sealed for.
  case hardware

  /// Returns whether the left protection requires less.
  public static func < (left: AtRestProtection, right: AtRestProtection) -> Bool {
    left.rawValue < right.rawValue
  }
}
