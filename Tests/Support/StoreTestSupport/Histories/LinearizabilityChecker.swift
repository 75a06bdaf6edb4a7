/// A search for an order of all operations that explains what each of them saw.
///
/// In such an order every operation takes effect at once, at a moment between its invocation and
/// its response, and every observation sees what the changes before it left. Since a change of
/// several items is one operation, a history with an observation of a part of it has no such order.
///
/// The answer is exact. The search walks the events in the order of time and keeps all
/// configurations that are still possible: what the items hold, and which of the operations under
/// way have taken effect. A change takes effect as late as possible: when some operation's response
/// needs it, and then the search tries every order of the changes under way. An observation takes
/// effect as soon as a state agrees with it, which excludes no other order, because it changes
/// nothing. No more operations are under way than there are processes, so there are few
/// configurations, and every step drops those that a response has refuted.
package struct LinearizabilityChecker {
  /// The point at which a history has no explanation.
  package struct Violation: Hashable, Sendable, CustomStringConvertible {
    /// The first operation, by its response, that nothing explains.
    package let operation: HistoryOperation
    /// What the items may have held when it responded.
    package let states: Set<GroupState>
    /// The other operations that were under way.
    package let concurrent: [HistoryOperation]

    package var description: String {
      let states = states.prefix(8).map { "\($0)" }.sorted().joined(separator: " or ")
      return "\(operation) cannot be explained: the items hold \(states), "
        + "and under way are \(concurrent)"
    }
  }

  /// One way in which everything so far may have happened.
  private struct Configuration: Hashable {
    var state: GroupState
    /// Operations under way that have had their effect, a bit for each.
    var done: UInt64 = 0
  }

  private struct Event {
    let time: UInt64
    let isResponse: Bool
    let operation: Int
  }

  private var configurations: Set<Configuration>
  private var underWay: [Int: HistoryOperation] = [:]
  private var slots: [Int: Int] = [:]

  private init(_ start: GroupState) {
    configurations = [Configuration(state: start)]
  }

  /// Checks the history of one group of items.
  ///
  /// - Parameters:
  ///   - history: Its operations, in any order.
  ///   - start: What the items hold at the beginning.
  /// - Returns: The first operation without an explanation; `nil` for a linearizable history.
  package static func violation(
    in history: [HistoryOperation], from start: GroupState = .zero
  ) -> Violation? {
    var checker = LinearizabilityChecker(start)
    for event in events(of: history) {
      let operation = history[event.operation]
      if !event.isResponse {
        checker.begin(operation, event.operation)
      } else if let violation = checker.end(operation, event.operation) {
        return violation
      }
    }
    return nil
  }

  /// Returns the events in order of time; at the same nanosecond, beginnings come before ends,
  /// since neither operation precedes the other.
  private static func events(of history: [HistoryOperation]) -> [Event] {
    var events: [Event] = []
    events.reserveCapacity(2 * history.count)
    for (number, operation) in history.enumerated() {
      events.append(Event(time: operation.invoked, isResponse: false, operation: number))
      events.append(Event(time: operation.responded, isResponse: true, operation: number))
    }
    events.sort { $0.time != $1.time ? $0.time < $1.time : !$0.isResponse && $1.isResponse }
    return events
  }

  private mutating func begin(_ operation: HistoryOperation, _ number: Int) {
    guard let slot = (0..<UInt64.bitWidth).first(where: { underWay[$0] == nil }) else {
      preconditionFailure("no more than 64 operations can be under way at a time")
    }
    slots[number] = slot
    underWay[slot] = operation
    guard operation.kind == .observation else { return }
    configurations = Set(
      configurations.map { configuration in
        var configuration = configuration
        if operation.agrees(with: configuration.state) { configuration.done |= 1 << slot }
        return configuration
      })
  }

  private mutating func end(_ operation: HistoryOperation, _ number: Int) -> Violation? {
    guard let slot = slots.removeValue(forKey: number) else {
      preconditionFailure("an operation ends once")
    }
    let possible = configurations
    configurations = []
    for configuration in possible {
      for var reached in ways(from: configuration, untilDone: slot) {
        reached.done &= ~(1 << slot)
        configurations.insert(reached)
      }
    }
    underWay[slot] = nil
    guard configurations.isEmpty else { return nil }
    return Violation(
      operation: operation, states: Set(possible.map(\.state)),
      concurrent: underWay.sorted { $0.key < $1.key }.map(\.value))
  }

  /// Returns the configurations that changes under way lead to, each up to the first in which the
  /// operation of a slot is done.
  private func ways(
    from start: Configuration, untilDone slot: Int
  ) -> Set<Configuration> {
    if start.done & 1 << slot != 0 { return [start] }
    var found: Set<Configuration> = []
    var seen: Set<Configuration> = [start]
    var rest = [start]
    while let configuration = rest.popLast() {
      for (changeSlot, change) in underWay
      where change.kind == .change && configuration.done & 1 << changeSlot == 0 {
        let next = normalized(
          Configuration(
            state: change.applied(to: configuration.state),
            done: configuration.done | 1 << changeSlot))
        guard seen.insert(next).inserted else { continue }
        if next.done & 1 << slot != 0 { found.insert(next) } else { rest.append(next) }
      }
    }
    return found
  }

  /// Returns a configuration in which all observations that agree with its state are done.
  private func normalized(_ configuration: Configuration) -> Configuration {
    var configuration = configuration
    for (slot, operation) in underWay
    where operation.kind == .observation && operation.agrees(with: configuration.state) {
      configuration.done |= 1 << slot
    }
    return configuration
  }
}
