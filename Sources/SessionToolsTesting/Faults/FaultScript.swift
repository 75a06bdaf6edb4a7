import SessionToolsBase

/// The faults that are to happen, and the calls so far.
struct FaultScript {
  /// The reason why all calls but `changes` fail, while an outage lasts.
  enum Outage {
    case locked, unavailable
  }

  private struct Rule {
    let fault: FaultyStore.Fault
    let operations: Set<FaultyStore.Operation>
    let name: ItemName?
    var skippedCount: Int
    /// How often the fault still happens; `nil` without limit.
    var leftCount: Int?

    func concerns(_ call: FaultyStore.Call) -> Bool {
      leftCount != 0 && operations.contains(call.operation)
        && fault.concerns(call.operation) && (name.map(call.names.contains) ?? true)
    }
  }

  var outage: Outage?
  private(set) var calls: [FaultyStore.Call] = []
  private var rules: [Rule] = []

  /// How many faults are still to happen, not counting those without limit.
  var leftCount: Int { rules.reduce(0) { $0 + ($1.leftCount ?? 0) } }

  mutating func add(
    _ fault: FaultyStore.Fault, _ operations: Set<FaultyStore.Operation>, _ name: ItemName?,
    after skippedCount: Int,
    times: Int?
  ) {
    rules.append(
      Rule(
        fault: fault, operations: operations, name: name, skippedCount: skippedCount,
        leftCount: times))
  }

  mutating func removeFaults() { rules = [] }

  mutating func removeCalls() { calls = [] }

  /// Records a call.
  ///
  /// - Returns: The effects on the call, in order.
  mutating func begin(_ call: FaultyStore.Call) -> [FaultyStore.Fault.Effect] {
    calls.append(call)
    // During an outage, a call fails in no other way.
    guard outage == nil || call.operation == .changes else { return [] }
    var effects: [FaultyStore.Fault.Effect] = []
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
