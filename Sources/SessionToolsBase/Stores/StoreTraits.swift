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

  /// States what a store can do.
  public init(
    isAtomic: Bool, isDurable: Bool, seesOtherProcesses: Bool, excludesOtherProcesses: Bool,
    largestValueByteCount: Int, protection: String
  ) {
    self.isAtomic = isAtomic
    self.isDurable = isDurable
    self.seesOtherProcesses = seesOtherProcesses
    self.excludesOtherProcesses = excludesOtherProcesses
    self.largestValueByteCount = largestValueByteCount
    self.protection = protection
  }
}
