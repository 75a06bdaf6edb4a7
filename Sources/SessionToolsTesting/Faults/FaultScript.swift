import SessionToolsBase

/// What is to go wrong, and what was asked for up to now.
struct FaultScript {
  /// Why nothing can be asked for, for as long as that lasts.
  enum Outage {
    case locked, unavailable
  }

  private struct Rule {
    let fault: Fault
    let operations: Set<StoreOperation>
    let key: StoreKey?
    var skippedCount: Int
    /// `nil` for one that goes on.
    var leftCount: Int?

    func concerns(_ call: StoreCall) -> Bool {
      leftCount != 0 && operations.contains(call.operation)
        && fault.concerns(call.operation) && (key.map(call.keys.contains) ?? true)
    }
  }

  var outage: Outage?
  private(set) var calls: [StoreCall] = []
  private var rules: [Rule] = []

  /// How many faults are still to happen, not counting those that go on.
  var leftCount: Int { rules.reduce(0) { $0 + ($1.leftCount ?? 0) } }

  mutating func add(
    _ fault: Fault, _ operations: Set<StoreOperation>, _ key: StoreKey?, after skippedCount: Int,
    times: Int?
  ) {
    rules.append(
      Rule(
        fault: fault, operations: operations, key: key, skippedCount: skippedCount,
        leftCount: times))
  }

  mutating func removeFaults() { rules = [] }

  mutating func removeCalls() { calls = [] }

  /// Notes a call.
  ///
  /// - Returns: What happens to it, in order.
  mutating func begin(_ call: StoreCall) -> [Fault.Effect] {
    calls.append(call)
    // What nobody can ask for cannot go wrong in another way.
    guard outage == nil || call.operation == .changes else { return [] }
    var effects: [Fault.Effect] = []
    for position in rules.indices where rules[position].concerns(call) {
      if rules[position].skippedCount > 0 {
        rules[position].skippedCount -= 1
        continue
      }
      rules[position].leftCount = rules[position].leftCount.map { $0 - 1 }
      effects.append(rules[position].fault.effect)
      if rules[position].fault.isFinal { break }
    }
    return effects
  }
}
