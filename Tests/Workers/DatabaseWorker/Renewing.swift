import DatabaseStore
import Foundation
import FoundationNetworking
import SessionToolsBase
import SessionToolsStoreTestSupport
import Synchronization

/// A user's token, which has expired until it was refreshed once.
private struct Token: Codable, Sendable {
  let refreshToken: String
  let number: Int
}

/// The server's answer to a token that was spent or revoked.
private struct Refused: Error {}

/// The moments at which a process stops itself until it is continued.
private enum Stop: String {
  case never
  /// With exclusive access to the refreshes of the item, before the handler.
  case beforeHandler = "before-handler"
  /// In the handler, before the token is sent.
  case inHandler = "in-handler"

  func happen(_ moment: Stop) {
    if self == moment { raise(SIGSTOP) }
  }
}

/// The machine's clocks, which a session reads before it waits for its handler.
private final class StoppingClock: SessionClock {
  /// Whether this is the task that waits for the refresh: it reads the clock while the refresh is
  /// still asking for the exclusive access.
  @TaskLocal static var isOfWaiter = false

  private let stop: Stop
  private let store: SealedDatabaseStore
  private let item: ItemName
  private let hasStopped = Mutex(false)
  private let system = SystemSessionClock()

  init(_ stop: Stop, _ store: SealedDatabaseStore, _ item: ItemName) {
    (self.stop, self.store, self.item) = (stop, store, item)
  }

  var now: Date { system.now }

  var uptime: Duration {
    if stop == .beforeHandler, !Self.isOfWaiter {
      hasStopped.withLock { hasStopped in
        guard !hasStopped, isRefreshing else { return }
        hasStopped = true
        stop.happen(.beforeHandler)
      }
    }
    return system.uptime
  }

  /// Whether someone refreshes the item: no one does in another process.
  private var isRefreshing: Bool {
    do {
      try store.withExclusiveAccess(to: item.refreshLock, timeout: .zero) {}
      return false
    } catch StoreError.timedOut {
      return true
    } catch {
      return false
    }
  }

  func sleep(for duration: Duration) async throws { try await system.sleep(for: duration) }
}

/// Asks for a valid token of each user, one after the other.
///
/// Reports, each with the time, when a token is sent, and the outcome.
func renew() async throws {
  let store = try openStore()
  let container = try StoreContainer<Token>(store, service: "fleet")
  guard let stop = Stop(rawValue: argument(9)) else { fail("no such moment") }
  say("opened")
  _ = readLine()
  for user in number(7)..<number(7) + number(8) {
    var policy = RefreshPolicy()
    policy.timeout = .seconds(300)
    var refresher = SessionRefresher<Token>(
      policy: policy, expiration: { $0.number == 0 ? .distantPast : nil }
    ) { request in
      say("sending \(user) \(now())")
      stop.happen(.inHandler)
      do {
        return .refreshed(try await refresh(request.item))
      } catch let error as Refused {
        return .rejected(error)
      }
    }
    refresher.clock = StoppingClock(stop, store, try ItemName("\(user)", in: "fleet"))
    let session = UserSession(
      container: container, storageIdentifier: "\(user)", refresher: refresher)
    say("\(try await outcome(of: session)) \(user) \(now())")
  }
  say("ended")
}

private func outcome(of session: UserSession<Token>) async throws -> String {
  while true {
    do {
      // The refresh does not inherit this: it has a detached task.
      _ = try await StoppingClock.$isOfWaiter.withValue(true) { try await session.validItem() }
      return "renewed"
    } catch let error as SessionError where [.rejected, .notSignedIn].contains(error.code) {
      return "rejected"
    } catch let error as SessionError where error.code == .temporarilyFailed {
      // The process stood still in each of several tries: a caller tries again.
      try await Task.sleep(for: error.retryAfter ?? .zero)
    } catch StoreError.exclusionLost {
      // Lost twice: a caller tries again.
    }
  }
}

/// The time in milliseconds, by a clock that all processes share.
private func now() -> UInt64 { monotonicTime() / 1_000_000 }

private func refresh(_ token: Token) async throws -> Token {
  struct Answer: Decodable {
    let refresh_token: String
  }
  guard let url = URL(string: argument(6) + "/token") else { fail("no URL") }
  var request = URLRequest(url: url)
  request.httpMethod = "POST"
  request.httpBody = Data("grant_type=refresh_token&refresh_token=\(token.refreshToken)".utf8)
  // In a task of its own: Foundation may block or crash when a request is cancelled.
  let answered = Task { [request] in try await URLSession.shared.data(for: request) }
  let (data, response) = try await answered.value
  guard (response as? HTTPURLResponse)?.statusCode == 200 else { throw Refused() }
  let answer = try JSONDecoder().decode(Answer.self, from: data)
  return Token(refreshToken: answer.refresh_token, number: token.number + 1)
}
