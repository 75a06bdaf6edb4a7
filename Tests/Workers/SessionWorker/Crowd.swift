import Dispatch
import Foundation
import SealedStore
import SessionToolsBase
import Synchronization
import WebLogin

/// Many users of one service, whose access tokens have all expired.
struct Crowd {
  let store: SealedFileStore
  let sessions: [UserSession<OAuthCredential>]

  init(_ count: Int, in store: SealedFileStore, at address: String) throws {
    self.store = store
    let server = try AuthorizationServer(
      issuer: address, authorizationEndpoint: nil, tokenEndpoint: address + "/token")
    let client = OAuthClient(server: server, clientID: "crowd")
    let container = try StoreContainer<OAuthCredential>(store, service: "crowd")
    var policy = RefreshPolicy()
    policy.timeout = .seconds(300)
    let refresher = client.refresher(policy: policy)
    sessions = (0..<count).map {
      UserSession(container: container, storageIdentifier: "\($0)", refresher: refresher)
    }
  }

  /// Stores a credential that has expired for each user.
  func signIn() throws {
    for (number, session) in sessions.enumerated() {
      try session.didLogIn(
        OAuthCredential(
          accessToken: "access-\(number)-0", refreshToken: "refresh-\(number)-0",
          expirationDate: .distantPast))
    }
  }

  /// Lets all users ask at once, and reports how many were answered, how many threads and how much
  /// memory the process had meanwhile, and how long other work took.
  func ask() async throws {
    let observer = Observer()
    observer.start()
    let start = ContinuousClock.now
    let answers = await withTaskGroup(of: String?.self) { group in
      for session in sessions {
        group.addTask { try? await session.validItem().accessToken }
      }
      return await group.reduce(into: [String]()) { if let answer = $1 { $0.append(answer) } }
    }
    let time = ContinuousClock.now - start
    let seen = observer.stop()
    let fresh = Set(answers).filter { $0.hasSuffix("-1") }
    say("answered \(fresh.count)")
    say("milliseconds \(time / .milliseconds(1))")
    say("threads \(seen.threadCount)")
    say("kibibytes \(seen.kibibytes)")
    say("p99 \(seen.percentile99 / .milliseconds(1))")
  }

  /// Lets all users ask at once, and ends in order after SIGTERM.
  func askUntilStopped() async throws {
    signal(SIGTERM, SIG_IGN)
    let termination = DispatchSource.makeSignalSource(
      signal: SIGTERM, queue: DispatchQueue(label: "end"))
    let (signals, signaller) = AsyncStream.makeStream(of: Void.self)
    termination.setEventHandler { signaller.finish() }
    termination.activate()
    for session in sessions { Task { try? await session.validItem() } }
    say("asked")
    for await _ in signals {}
    say(await SessionRefreshes.end(within: .seconds(60)) ? "ended" : "given up")
  }
}

/// Watches the process while it works: its threads, and how long a read from memory takes.
private final class Observer: Sendable {
  struct Seen: Sendable {
    var threadCount = 0
    var kibibytes = 0
    var times: [Duration] = []

    var percentile99: Duration {
      times.isEmpty ? .zero : times.sorted()[times.count * 99 / 100]
    }
  }

  private let isStopped = Atomic(false)
  private let seen = Mutex(Seen())
  private let hasEnded = DispatchSemaphore(value: 0)

  func start() {
    let store = MemoryStore()
    Task.detached {
      let name = try ItemName("token", in: "observer")
      try await store.put(SecretBytes(utf8: "value"), for: name)
      while !self.isStopped.load(ordering: .relaxed) {
        // On the cooperative pool, like any task of the service.
        let time = try await ContinuousClock().measure { _ = try await store.value(for: name) }
        self.seen.withLock { $0.times.append(time) }
        try await Task.sleep(for: .milliseconds(1))
      }
    }
    Thread {
      while !self.isStopped.load(ordering: .relaxed) {
        let count = Self.status("Threads")
        self.seen.withLock { $0.threadCount = max($0.threadCount, count) }
        Thread.sleep(forTimeInterval: 0.005)
      }
      self.hasEnded.signal()
    }.start()
  }

  func stop() -> Seen {
    isStopped.store(true, ordering: .relaxed)
    hasEnded.wait()
    return seen.withLock { seen in
      seen.kibibytes = Self.status("VmHWM")
      return seen
    }
  }

  private static func status(_ name: String) -> Int {
    let text = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = text.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    return line?.split { !$0.isNumber }.first.flatMap { Int($0) } ?? 0
  }
}
