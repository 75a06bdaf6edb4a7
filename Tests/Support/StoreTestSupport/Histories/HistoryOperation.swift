/// One operation of a history: what it did or saw, and the two moments between which it happened.
///
/// There are only two kinds. A put, a removal and a list of both are all changes of some items at
/// once; reading a value, asking whether there is one and listing are all observations of some
/// items at once.
package struct HistoryOperation: Hashable, Sendable {
  package enum Kind: UInt64, Sendable {
    case change
    case observation
  }

  package let kind: Kind
  /// What was written or seen of every item of the group: a value's number or an ``ItemWord``.
  package let items: GroupState
  /// When the caller began, in nanoseconds.
  package let invoked: UInt64
  /// When the caller had the answer.
  package let responded: UInt64

  package init(_ kind: Kind, _ items: GroupState, invoked: UInt64, responded: UInt64) {
    self.kind = kind
    self.items = items
    self.invoked = invoked
    self.responded = responded
  }

  /// Returns the state that this change makes of a state.
  package func applied(to state: GroupState) -> GroupState {
    var result = state
    for item in 0..<GroupState.scalarCount where items[item] != ItemWord.untouched {
      result[item] = items[item]
    }
    return result
  }

  /// Returns whether this observation can be made of a state.
  package func agrees(with state: GroupState) -> Bool {
    for item in 0..<GroupState.scalarCount {
      switch items[item] {
      case ItemWord.untouched: continue
      case ItemWord.present: if state[item] == ItemWord.absent { return false }
      case let value: if state[item] != value { return false }
      }
    }
    return true
  }
}

extension HistoryOperation: CustomStringConvertible {
  package var description: String {
    let words = (0..<GroupState.scalarCount).map { item in
      switch items[item] {
      case ItemWord.untouched: "·"
      case ItemWord.present: "some"
      case ItemWord.absent: "none"
      case let value: "\(value)"
      }
    }
    return "\(kind) [\(words.joined(separator: " "))] from \(invoked) to \(responded)"
  }
}

/// The contents of four items that are changed together: for each, the number of its value, or 0
/// when it is absent.
///
/// There are four so that a state is small and allocates no memory: a checker has millions of them.
package typealias GroupState = SIMD4<UInt64>

/// The words that an operation has for an item in place of a value's number.
package enum ItemWord {
  /// The item is absent, or removed.
  package static let absent: UInt64 = 0
  /// A change leaves the item alone; an observation does not look at it.
  package static let untouched = UInt64.max
  /// An observation saw that there is a value, but not which.
  package static let present = UInt64.max - 1
}
