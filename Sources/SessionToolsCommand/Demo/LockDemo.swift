import Foundation
import LinuxAuthentication
import SealedStore
import SessionAuthentication
import SessionToolsBase
import Synchronization

/// A sealed store behind a gate, in a terminal.
struct LockDemo {
  private static let scene: SceneIdentifier = "terminal"
  private static let messages = [
    "Ada:     the engine weaves algebraic patterns",
    "Charles: it is not built yet",
  ]

  /// The time a question waits for its answer before the gate locks.
  let autoLock: Duration
  let interaction: InteractionOptions

  func run() throws {
    let directory = try DemoDirectory()
    let store = try makeStore(at: directory.store)
    let container = try StoreContainer<[String]>(store, service: "com.example.demo")
    try container.storeItem(Self.messages, forIdentifier: "messages")

    let gate = makeGate(before: store)
    let wake = try System.Wake()
    let screen = Screen()
    let shield = PrivacyShield(reasons: [.locked], obscure: screen.cover, reveal: screen.clear)
    gate.connect(Self.scene, isActive: true, shield: shield) { directive in
      if case .locked = directive { wake.signal() }
    }
    let listening = Task {
      // Without logind, as in a container, only the timeout and the person lock the gate.
      try? await gate.follow(LogindSource(program: "session-tools", reason: "Locking the demo"))
    }
    defer { listening.cancel() }
    let guarded = GuardedContainer(container, behind: gate)
    while try open(gate), try show(guarded, on: screen, gate, until: wake) {}
    if Interruption.signal != nil {
      throw StoreError(.cancelled, store: directory.store, reason: "it was interrupted")
    }
  }

  /// Asks the person until they open the gate.
  ///
  /// - Returns: Whether the gate is open; `false` if the person cancels or a signal arrives.
  private func open(_ gate: AuthenticationGate) throws -> Bool {
    while gate.requiresAuthentication, Interruption.signal == nil {
      do {
        try waiting { try await gate.authenticate(in: Self.scene) }
      } catch AuthenticationError.userCancel {
        return false
      } catch let error as AuthenticationError {
        StandardError.say("\(error)")
      }
    }
    return Interruption.signal == nil
  }

  /// Shows the content until the gate locks or the person answers.
  ///
  /// - Returns: Whether to continue.
  private func show(
    _ container: GuardedContainer<[String]>, on screen: Screen, _ gate: AuthenticationGate,
    until wake: System.Wake
  ) throws -> Bool {
    wake.clear()
    do throws(any Error) {
      let messages = try container.loadItem(forIdentifier: "messages") ?? []
      try screen.show(messages.map { "  \($0)\n" }.joined())
    } catch StoreError.locked {
      // The gate locked a moment ago.
      return true
    }
    let question = "Enter shows them again, l locks, q ends: "
    switch try System.askAtTerminal(question, isHidden: false, timeout: autoLock, wake: wake) {
    case .ended: return false
    case .woken: return true
    case .timedOut:
      gate.invalidate()
      return true
    case .line(let line):
      switch String(decoding: line.copyBytes(), as: UTF8.self) {
      case "q": return false
      case "l":
        gate.invalidate()
        return true
      default: return true
      }
    }
  }

  private func makeStore(at path: String) throws -> SealedFileStore {
    let prompt = PassphrasePrompt(path: "the demo", interaction: interaction)
    let passphrase = try Passphrase(utf8: prompt.askForNew())
    return try SealedFileStore.create(at: path, key: passphrase)
  }

  private func makeGate(before store: SealedFileStore) -> AuthenticationGate {
    var configuration = GateConfiguration()
    configuration.requestsAutomatically = false
    let authenticator = PassphraseAuthenticator(of: store, prompt: TerminalPrompt())
    let gate = AuthenticationGate(authenticator, configuration: configuration) {
      AuthenticationRequest(reason: "show the messages")
    }
    gate.attach(.keys(of: store))
    return gate
  }
}

/// The screen; while it is covered, no content is written to it.
private final class Screen: Sendable {
  private let isCovered = Mutex(false)

  func show(_ content: String) throws {
    try isCovered.withLock { isCovered in
      if !isCovered { try StandardOutput.write(content) }
    }
  }

  @Sendable func cover() {
    isCovered.withLock { isCovered in
      isCovered = true
      Self.empty()
      // There is no way left to report that writing failed.
      try? StandardOutput.write(
        "The messages are hidden, and the store's keys are not in memory.\n")
    }
  }

  @Sendable func clear() {
    isCovered.withLock { isCovered in
      isCovered = false
      Self.empty()
    }
  }

  /// Clears the screen and the lines that can be scrolled back to.
  private static func empty() {
    if StandardOutput.isTerminal { try? StandardOutput.write("\u{1b}[H\u{1b}[2J\u{1b}[3J") }
  }
}
