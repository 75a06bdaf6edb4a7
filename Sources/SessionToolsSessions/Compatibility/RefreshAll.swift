import SecretStores
import Synchronization

extension Sequence where Element == any Refreshable {
  /// Refreshes all at the same time and calls the completion once, when the last has ended.
  ///
  /// Each is refreshed as often as it is in the sequence. ``UserSession``s of one item take turns,
  /// in the order of the sequence: each refreshes the item that the one before has stored, with its
  /// own refresher or handler, and has its own result. If one fails, the others still take their
  /// turns.
  ///
  /// The completion runs on the thread that ended last; for an empty sequence at once, on the
  /// calling thread. An element that calls its completion twice counts once, and releasing the
  /// completion uncalled is an error. The errors are in the order of the sequence;
  /// `refreshAll(completion:)` also reports their targets.
  public func refresh(completion: @escaping RefreshAllCompletion) {
    RefreshRound.run(Array(self)) { errors in
      let errors = errors.compactMap(\.self)
      completion(errors.isEmpty ? nil : errors)
    }
  }

  /// Refreshes all at the same time and calls the completion once with the failures, in the order
  /// of the sequence.
  ///
  /// The completion runs as that of `refresh(completion:)` does.
  public func refreshAll(
    completion: @escaping ([(target: Element, error: RefreshError)]) -> Void
  ) {
    let targets = Array(self)
    RefreshRound.run(targets) { errors in completion(failures(of: targets, with: errors)) }
  }

  /// Refreshes all at the same time and returns the failures, in the order of the sequence.
  public func refreshAll() async -> [(target: Element, error: RefreshError)] {
    let targets = Array(self)
    return failures(of: targets, with: await RefreshRound.run(targets))
  }
}

extension Sequence where Element: Refreshable {
  /// Refreshes all at the same time and calls the completion once, when the last has ended.
  ///
  /// Each is refreshed as often as it is in the sequence. ``UserSession``s of one item take turns,
  /// in the order of the sequence: each refreshes the item that the one before has stored, with its
  /// own refresher or handler, and has its own result. If one fails, the others still take their
  /// turns.
  ///
  /// The completion runs on the thread that ended last; for an empty sequence at once, on the
  /// calling thread. An element that calls its completion twice counts once, and releasing the
  /// completion uncalled is an error. The errors are in the order of the sequence;
  /// `refreshAll(completion:)` also reports their targets.
  public func refresh(completion: @escaping RefreshAllCompletion) {
    map { $0 as any Refreshable }.refresh(completion: completion)
  }

  /// Refreshes all at the same time and calls the completion once with the failures, in the order
  /// of the sequence.
  ///
  /// The completion runs as that of `refresh(completion:)` does.
  public func refreshAll(
    completion: @escaping ([(target: Element, error: RefreshError)]) -> Void
  ) {
    let targets = Array(self)
    RefreshRound.run(targets) { errors in completion(failures(of: targets, with: errors)) }
  }

  /// Refreshes all at the same time and returns the failures, in the order of the sequence.
  public func refreshAll() async -> [(target: Element, error: RefreshError)] {
    let targets = Array(self)
    return failures(of: targets, with: await RefreshRound.run(targets))
  }
}

/// A session that joins a refresh of its item made by another session.
protocol SharedRefreshable: Refreshable, RefreshingSession {}

private func failures<Target>(
  of targets: [Target], with errors: [RefreshError?]
) -> [(target: Target, error: RefreshError)] {
  zip(targets, errors).compactMap { target, error in
    error.map { (target, $0) }
  }
}

/// Several refreshes that end at any time on any thread.
private final class RefreshRound: Sendable {
  typealias Completion = ([RefreshError?]) -> Void

  private struct State {
    var errors: [RefreshError?]
    var unfinishedCount: Int
  }

  /// Unchecked: it is called once, by the refresh that finishes last.
  private struct Held: @unchecked Sendable {
    let call: Completion
  }

  private let state: Mutex<State>
  private let completion: Held

  private init(count: Int, completion: @escaping Completion) {
    state = Mutex(State(errors: Array(repeating: nil, count: count), unfinishedCount: count))
    self.completion = Held(call: completion)
  }

  /// Refreshes all targets and reports one result for each, in their order.
  static func run(_ targets: [any Refreshable], completion: @escaping Completion) {
    guard !targets.isEmpty else {
      completion([])
      return
    }
    let round = RefreshRound(count: targets.count, completion: completion)
    var sessions: [(position: Int, session: any SharedRefreshable)] = []
    for (position, target) in targets.enumerated() {
      if let session = target as? any SharedRefreshable {
        sessions.append((position, session))
      } else {
        let answer = SingleCompletion(of: "\(type(of: target))") {
          round.finish(position, with: $0)
        }
        target.refresh { answer($0) }
      }
    }
    if !sessions.isEmpty { round.takeTurns(sessions) }
  }

  /// Refreshes sessions; those of one item one after the other, since otherwise chance would decide
  /// which of them join the refresh of another.
  private func takeTurns(_ sessions: [(position: Int, session: any SharedRefreshable)]) {
    // Not on the cooperative pool, whose threads may all wait for the completion.
    let executor = BlockingExecutor(maximumThreadCount: 1)
    Task(executorPreference: executor) {
      var turns: [ObjectIdentifier: Task<Void, Never>] = [:]
      for (position, session) in sessions {
        // One whose name is not valid has an item of its own, and fails when it is refreshed.
        let shared = (try? session.sharedState()).map { ObjectIdentifier($0) }
        let before = shared.flatMap { turns[$0] }
        let turn = Task(executorPreference: executor) {
          await before?.value
          do throws(RefreshError) {
            try await session.refreshNow()
            self.finish(position, with: nil)
          } catch {
            self.finish(position, with: error)
          }
        }
        if let shared { turns[shared] = turn }
      }
    }
  }

  /// Refreshes all targets and waits for the results.
  static func run(_ targets: [any Refreshable]) async -> [RefreshError?] {
    await withCheckedContinuation { continuation in
      run(targets) { continuation.resume(returning: $0) }
    }
  }

  private func finish(_ position: Int, with error: RefreshError?) {
    let errors = state.withLock { state -> [RefreshError?]? in
      state.errors[position] = error
      state.unfinishedCount -= 1
      return state.unfinishedCount == 0 ? state.errors : nil
    }
    if let errors { completion.call(errors) }
  }
}
