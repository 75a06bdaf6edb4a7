#if GTKScenes
import CSessionToolsGTK
import Foundation
import GTKScenes
import LinuxAuthentication
import SealedStore
import SessionAuthentication
import SessionToolsBase
import Synchronization

/// The windows, the gate, and what the test wants of them.
///
/// It is used on GTK's thread only: this justifies the unchecked conformance.
final class Worker: @unchecked Sendable {
  static let passphrase = "open sesame"

  private let store: SealedFileStore
  private let gate: AuthenticationGate
  private let prompt = CoverPrompt()
  private let dialogs = DialogPrompt()
  /// Whether the program asks in a dialog of its own.
  private let hasDialogs = ProcessInfo.processInfo.environment["DIALOGS"] != nil
  private let hang = Mutex<Double>(0)
  private var windows: [String: ColorWindow] = [:]
  private let isBusy = Mutex(false)
  private let kept = Mutex<GatedWindow?>(nil)

  init(storePath: String) throws {
    store = try SealedFileStore.create(
      at: storePath,
      key: Passphrase(Self.passphrase, cost: .fixed(passes: 1, memoryByteCount: 8 << 20)))
    var configuration = GateConfiguration()
    configuration.requestsAutomatically = false
    if ProcessInfo.processInfo.environment["LOCKS"] == "resignActive" {
      configuration.invalidation = .resignActive
      configuration.switchingDuration = .zero
    }
    let asking: any AuthenticationPrompt = hasDialogs ? dialogs : prompt
    gate = AuthenticationGate(
      PassphraseAuthenticator(of: store, prompt: ReportingPrompt(prompt: asking)),
      configuration: configuration
    ) {
      var request = AuthenticationRequest(reason: "show your colors")
      request.cancelTitle = "Not now"
      return request
    }
    gate.attach(.keys(of: store))
    gate.attach(
      GatedResource(
        // As a store does whose keyring does not answer.
        lock: { [self] in
          let duration = hang.withLock { $0 }
          Thread.sleep(forTimeInterval: duration)
          if duration > 0 { say("wiped") }
        }, unlock: {}))
  }

  func run() {
    say("ready")
    Task { [gate] in for await state in gate.states { say("gate \(Self.name(of: state))") } }
    if ProcessInfo.processInfo.environment["DBUS_SYSTEM_BUS_ADDRESS"] != nil {
      for source in [
        LogindSource(countsIdleness: true) as any LifecycleSource, ScreenSaverSource(),
      ] {
        // A bus without this service has nothing to report.
        Task { [gate] in try? await gate.follow(source) }
      }
    }
    Thread.detachNewThread { [self] in
      while let line = readLine() {
        onGTKThread { self.obey(line.split(separator: " ").map(String.init)) }
      }
      exit(0)
    }
    while true { g_main_context_iteration(nil, 1) }
  }

  private func obey(_ words: [String]) {
    let window = words.count > 1 ? windows[words[1]] : nil
    switch words.first {
    case "window":
      // Under another scene's name, if one is given.
      let window = ColorWindow(words[1])
      windows[words[1]] = window
      unsafe connect(window.pointer, as: words.last ?? words[1])
      window.show()
      return sayDone(words, when: words.last ?? words[1])
    case "keep":
      // The window is connected by an object that the program keeps.
      let window = ColorWindow(words[1])
      windows[words[1]] = window
      let gated = unsafe connect(window.pointer, as: words[1])
      kept.withLock { $0 = gated }
      window.reportEnd()
      window.show()
      return sayDone(words, when: words[1])
    case "release":
      // As a program does whose object ends with a task.
      Thread.detachNewThread { self.kept.withLock { $0 = nil } }
    case "again": if let window { unsafe connect(window.pointer, as: "again") }
    case "button": if let window { unsafe connect(window.button, as: "button") }
    case "thread":
      // The pointer is not looked at on another thread than GTK's.
      let done = DispatchSemaphore(value: 0)
      Thread.detachNewThread {
        unsafe self.connect(ColorWindow.anyPointer, as: "thread")
        done.signal()
      }
      done.wait()
    case "show": window?.show()
    case "hide": window?.hide()
    case "minimize": window?.minimize()
    case "replace": window?.replaceContent()
    case "content": window?.replaceContent(by: words.dropFirst(2).joined(separator: " "))
    case "style": window?.setStyle(words.dropFirst(2).joined(separator: " "))
    case "place": say("place \(words[1]) \(window?.buttonPlace ?? "none")")
    case "menu": window?.openMenu()
    case "focus": window?.focusEntry()
    case "panel": window?.openPanel()
    case "tooltip": window?.setTooltip()
    case "keys": window?.countKeys()
    case "seen": say("seen \(words[1]) \(window?.keyCount ?? -1)")
    case "dialog": say("dialog focused=\(dialogs.isFocused)")
    case "destroy":
      window?.destroy()
      windows[words[1]] = nil
    case "state": say("state \(words[1]) \(window?.state ?? "gone")")
    case "record":
      for window in windows.values { window.record { [gate] in gate.requiresAuthentication } }
    case "look": say("look \(Screenshot.description)")
    case "animate": window?.animate()
    case "gap": say("gap \(words[1]) \(window?.maximumGap ?? -1)")
    case "lock": Task { [gate] in gate.invalidate() }
    case "busy":
      isBusy.withLock { $0 = true }
      Task { await callGate() }
    case "calm": isBusy.withLock { $0 = false }
    case "text": window?.setTextSize(words[2])
    case "hang": hang.withLock { $0 = Double(words[1]) ?? 0 }
    case "ask":
      let scene = words.count > 1 ? SceneIdentifier(words[1]) : nil
      Task { [gate] in
        do throws(AuthenticationError) {
          try await gate.authenticate(in: scene)
          say("asked open")
        } catch {
          say("asked \(error.code)")
        }
      }
    default: say("unknown \(words)")
    }
    say("done \(words.joined(separator: " "))")
  }

  /// Reports the end of a command when the gate knows a scene, which another thread connects.
  private func sayDone(_ words: [String], when scene: String) {
    Task { [gate] in
      for _ in 0..<10_000 {
        do {
          try await gate.whenAuthenticated(in: SceneIdentifier(scene), timeout: .zero) {}
          break
        } catch let error as AuthenticationError where error.code == .appCancel {
          try? await Task.sleep(for: .milliseconds(5))
        } catch {
          break
        }
      }
      say("done \(words.joined(separator: " "))")
    }
  }

  /// Calls the gate from another thread, as often as possible.
  private func callGate() async {
    while isBusy.withLock({ $0 }) {
      for scene in ["red", "yellow"].map(SceneIdentifier.init(_:)) {
        let asking = Task { [gate] in try? await gate.authenticate(in: scene) }
        for event in SceneEvent.allCases { gate.handle(event, in: scene) }
        for event in [SystemEvent.sessionLocked, .sessionUnlocked] { gate.handle(event) }
        gate.configuration.isEnabled.toggle()
        gate.invalidate()
        asking.cancel()
        _ = await asking.value
      }
    }
    gate.configuration.isEnabled = true
    gate.invalidate()
    say("calm at last")
  }

  @discardableResult
  private func connect(_ window: OpaquePointer, as scene: String) -> GatedWindow? {
    unsafe dialogs.parent = { unsafe window }
    do {
      return try unsafe GatedWindow(
        window, as: SceneIdentifier(scene), behind: gate, prompt: hasDialogs ? nil : prompt)
    } catch {
      say("refused \(error.code)")
      return nil
    }
  }

  private static func name(of state: AuthenticationGate.State) -> String {
    switch state {
    case .locked: "locked"
    case .evaluating(let scene): "evaluating \(scene?.description ?? "-")"
    case .unlocked: "unlocked"
    case .grace: "grace"
    case .failed(let error): "failed \(error.code)"
    }
  }
}

/// A prompt that reports each question before another one asks it.
private struct ReportingPrompt: AuthenticationPrompt {
  let prompt: any AuthenticationPrompt

  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    say("question after \(question.failureCount) failures")
    return try await prompt.answer(to: question)
  }

  func show(_ message: AuthenticationMessage) async { await prompt.show(message) }
}

/// Writes a line at once, from any thread.
func say(_ line: String) {
  // The test has ended if it does not read any more.
  try? FileHandle.standardOutput.write(contentsOf: Data((line + "\n").utf8))
}

/// Calls a closure on GTK's thread.
func onGTKThread(_ body: @escaping @Sendable () -> Void) {
  let call = unsafe Unmanaged.passRetained(Body(body)).toOpaque()
  unsafe _ = g_idle_add_full(
    G_PRIORITY_DEFAULT,
    { data in
      if let data = unsafe data {
        unsafe Unmanaged<Body>.fromOpaque(data).takeRetainedValue().call()
      }
      return 0
    }, call, nil)
}

private final class Body: Sendable {
  let call: @Sendable () -> Void

  init(_ call: @escaping @Sendable () -> Void) { self.call = call }
}
#endif
