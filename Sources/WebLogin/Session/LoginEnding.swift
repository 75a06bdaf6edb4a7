import Synchronization

/// How a login ends: once, by whatever comes first.
final class LoginEnding: Sendable {
  typealias End = Result<LoginCallback, WebLoginError>

  private struct State {
    var end: End?
    var continuation: CheckedContinuation<End, Never>?
  }

  private let state = Mutex(State())

  func give(_ end: End) {
    let continuation = state.withLock { state in
      guard state.end == nil else { return nil as CheckedContinuation<End, Never>? }
      state.end = end
      return state.continuation.take()
    }
    continuation?.resume(returning: end)
  }

  func value() async throws(WebLoginError) -> LoginCallback {
    let end = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let end = state.withLock { state in
          if state.end == nil { state.continuation = continuation }
          return state.end
        }
        if let end { continuation.resume(returning: end) }
      }
    } onCancel: {
      give(.failure(.ofCancellation))
    }
    return try end.get()
  }
}
