/// The payloads of a store's changes in the order in which they were put.
typealias StoreState = [Int]

/// The record of all answers to processes, with which every later answer must agree.
struct Ledger: Hashable, Sendable {
  /// The furthest state that was confirmed, or that a process read.
  var floor: StoreState = []
  /// Changes that an answer reported as dropped.
  var dropped: [Int] = []
  /// Items that an accident destroyed.
  var lost: [Int] = []
  /// Whether the files were damaged or restored by something other than the store.
  var mayBeCorrupt = false
  /// The slots that a revocation dropped, or is about to.
  var revokedSlots: [Int] = []

  /// Records an answer.
  ///
  /// - Parameters:
  ///   - state: The state that was read or confirmed.
  ///   - floor: The furthest state when the operation began.
  ///   - seen: The furthest state that the same open store saw.
  /// - Throws: A violation if the answer breaks a promise.
  mutating func answer(
    _ state: StoreState, floor: StoreState, seen: StoreState
  ) throws(Violation) {
    let known = withoutLost(state)
    guard known.starts(with: withoutLost(floor)) else {
      throw Violation("answered \(state), but \(floor) was confirmed or read")
    }
    guard known.starts(with: withoutLost(seen)) else {
      throw Violation("answered \(state), but the same open store had \(seen)")
    }
    if let change = state.first(where: dropped.contains) {
      throw Violation("answered \(state), but \(change) was dropped")
    }
    let furthest = withoutLost(self.floor)
    guard known.starts(with: furthest) || furthest.starts(with: known) else {
      throw Violation("answered \(state), but something else answered \(self.floor)")
    }
    if known.count >= furthest.count { self.floor = state }
  }

  func withoutLost(_ state: StoreState) -> StoreState { state.filter { !lost.contains($0) } }
}

/// A promise that was broken.
package struct Violation: Error, Hashable, CustomStringConvertible {
  package let description: String

  init(_ description: String) {
    self.description = description
  }
}
