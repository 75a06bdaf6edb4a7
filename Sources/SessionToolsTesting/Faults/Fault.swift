public import SessionToolsBase

extension FaultyStore {
  /// A fault that a test injects.
  public struct Fault: Sendable {
    enum Effect: Sendable {
      case failure(StoreError.Code, reason: String)
      case delay(Duration, any SessionClock)
      case clockJump(Duration, ManualClock)
      /// The first changes are made, all of them if the count is `nil`, and then an error is
      /// thrown.
      case partlyMade(changeCount: Int?, StoreError.Code)
    }

    let effect: Effect

    /// Returns a fault that throws an error instead of doing anything; a change stream ends at
    /// once.
    public static func failing(
      _ code: StoreError.Code = StoreError.io, reason: String = "a test makes it fail"
    ) -> Fault {
      Fault(effect: .failure(code, reason: reason))
    }

    /// Returns a fault that delays an operation; a change stream is not delayed.
    ///
    /// A task that is cancelled meanwhile gets `cancelled`, and nothing is done. With a
    /// ``ManualClock`` the delay lasts until the test advances the clock.
    public static func slow(
      _ duration: Duration, by clock: any SessionClock = SystemSessionClock()
    ) -> Fault {
      Fault(effect: .delay(duration, clock))
    }

    /// Returns a fault that makes the first changes of a list, and then throws.
    ///
    /// It is only for stores whose traits state that they are not atomic.
    ///
    /// - Parameters:
    ///   - changeCount: How many changes are made; a shorter list is made completely.
    ///   - code: The code of the error that is thrown.
    /// - Returns: The fault, which only concerns `apply`.
    public static func torn(
      after changeCount: Int, _ code: StoreError.Code = StoreError.outcomeUnknown
    ) -> Fault {
      precondition(changeCount >= 0, "a number of changes is not negative")
      return Fault(effect: .partlyMade(changeCount: changeCount, code))
    }

    /// Returns a fault that throws `outcomeUnknown` after making all changes, or after making none.
    ///
    /// - Returns: The fault, which only concerns `apply`.
    public static func outcomeUnknown(isMade: Bool) -> Fault {
      Fault(effect: .partlyMade(changeCount: isMade ? nil : 0, StoreError.outcomeUnknown))
    }

    /// Returns a fault that moves a wall clock, back if the time is negative, before an operation.
    public static func clockJump(_ duration: Duration, of clock: ManualClock) -> Fault {
      Fault(effect: .clockJump(duration, clock))
    }

    /// Whether the fault makes only a part of a list.
    var isTorn: Bool {
      if case .partlyMade(let changeCount?, _) = effect { changeCount > 0 } else { false }
    }

    /// Whether nothing else happens after the fault.
    var isFinal: Bool {
      switch effect {
      case .failure, .partlyMade: true
      case .delay, .clockJump: false
      }
    }

    /// Returns whether the fault can happen to an operation.
    func concerns(_ operation: Operation) -> Bool {
      switch effect {
      case .failure, .clockJump: true
      case .delay: operation != .changes
      case .partlyMade: operation == .apply
      }
    }
  }
}
