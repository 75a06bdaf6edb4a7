import SecretStores
/// A poll of a store that is unavailable, with growing pauses.
struct Recheck {
  private static let first = Duration.seconds(1)
  private static let longest = Duration.seconds(15)

  private let occasion: AsyncStream<Void>.Continuation
  private let clock: any SessionClock
  private var pause = Self.first
  private var timer: Task<Void, Never>?

  init(_ occasion: AsyncStream<Void>.Continuation, clock: any SessionClock) {
    self.occasion = occasion
    self.clock = clock
  }

  /// Plans the next poll after what was found now.
  mutating func plan(ifUnavailable isUnavailable: Bool) {
    cancel()
    guard isUnavailable else {
      pause = Self.first
      return
    }
    timer = clock.after(pause) { [occasion] in occasion.yield() }
    pause = min(pause * 2, Self.longest)
  }

  func cancel() {
    timer?.cancel()
  }
}
