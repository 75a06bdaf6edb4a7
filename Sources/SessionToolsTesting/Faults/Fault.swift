public import SessionToolsBase

/// What goes wrong in a ``FaultyStore``.
public struct Fault: Sendable {
  enum Effect: Sendable {
    case failure(StoreError.Code, reason: String)
    case delay(Duration, any SessionClock)
    case clockJump(Duration, ManualClock)
    /// The first changes are made, all of them when that is `nil`, and then an error is thrown.
    case partlyMade(changeCount: Int?, StoreError.Code)
  }

  let effect: Effect

  /// Throws an error instead of doing anything; a stream of changes ends at once.
  public static func failing(
    _ code: StoreError.Code = StoreError.io, reason: String = "a test has it fail"
  ) -> Fault {
    Fault(effect: .failure(code, reason: reason))
  }

  /// Takes a time before it does what it is asked; a stream of changes takes none.
  ///
  /// A task that is cancelled meanwhile gets `cancelled`, and nothing is done. With a
  /// ``ManualClock`` it lasts until the test advances that.
  public static func slow(
    _ duration: Duration, by clock: any SessionClock = SystemSessionClock()
  ) -> Fault {
    Fault(effect: .delay(duration, clock))
  }

  /// Makes the first changes of a list, and then throws: only for stores whose traits say that they
  /// are not atomic.
  ///
  /// - Parameters:
  ///   - changeCount: How many changes are made; a shorter list is made as a whole.
  ///   - code: What is thrown.
  /// - Returns: The fault, which only concerns `apply`.
  public static func torn(
    after changeCount: Int, _ code: StoreError.Code = StoreError.outcomeUnknown
  ) -> Fault {
    precondition(changeCount >= 0, "a number of changes is not negative")
    return Fault(effect: .partlyMade(changeCount: changeCount, code))
  }

  /// Throws `outcomeUnknown` after making all changes, or after making none.
  ///
  /// - Returns: The fault, which only concerns `apply`.
  public static func outcomeUnknown(isMade: Bool) -> Fault {
    Fault(effect: .partlyMade(changeCount: isMade ? nil : 0, StoreError.outcomeUnknown))
  }

  /// Moves a wall clock, back when the time is negative, and then does what it is asked.
  public static func clockJump(_ duration: Duration, of clock: ManualClock) -> Fault {
    Fault(effect: .clockJump(duration, clock))
  }

  /// Whether it leaves a list half made.
  var isTorn: Bool {
    if case .partlyMade(let changeCount?, _) = effect { changeCount > 0 } else { false }
  }

  /// Whether nothing else happens after it.
  var isFinal: Bool {
    switch effect {
    case .failure, .partlyMade: true
    case .delay, .clockJump: false
    }
  }

  /// Whether it can happen to an operation.
  func concerns(_ operation: StoreOperation) -> Bool {
    switch effect {
    case .failure, .clockJump: true
    case .delay: operation != .changes
    case .partlyMade: operation == .apply
    }
  }
}
