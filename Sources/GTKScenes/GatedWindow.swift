#if GTKScenes
import Dispatch
public import SessionAuthentication
import Synchronization

/// A GTK window that is a scene of a gate: its content is covered unless it may be seen.
///
/// ```swift
/// let prompt = CoverPrompt()
/// let gate = AuthenticationGate(PassphraseAuthenticator(of: store, prompt: prompt)) {
///   AuthenticationRequest(reason: "show your mail")
/// }
/// try GatedWindow(window, as: "main", behind: gate, prompt: prompt)  // a GtkWindow's pointer
/// ```
///
/// The content is covered in every frame that is drawn while the gate is locked, or while no window
/// of the program has the focus. The cover is drawn over the content, which keeps its widgets,
/// their focus and what is being typed. While the gate is locked, keys reach only the cover.
///
/// The object lives as long as its window, whether or not the program keeps it.
///
/// It is used on GTK's thread only: this justifies the unchecked conformance.
public final class GatedWindow: @unchecked Sendable {
  /// Where the window is.
  private enum Presence {
    case hidden, visible, active
  }

  /// Calls the gate: wiping, which it may have to do, must not hold up the main loop.
  private static let gateQueue = DispatchQueue(label: "session-tools.gtk-scenes")

  private let window: Widget
  private let scene: SceneIdentifier
  private let gate: AuthenticationGate
  private let prompt: CoverPrompt?
  private let cover: Cover
  private let reports = GateReports()
  private var frames: FrameSignals?
  private var following: Task<Void, Never>?
  private var reported = Presence.hidden
  private var directive = SceneDirective.locked
  private var question: OpenQuestion?
  private var message: AuthenticationMessage?
  private var isUpdateDue = false
  private var hasLeft = false

  /// Connects a window to a gate, and covers it.
  ///
  /// The gate is notified of the window's focus, of hiding, minimizing and suspending it as far as
  /// GTK reports them, and of its end, by another thread than GTK's. It is retained until then.
  ///
  /// Call this on GTK's thread, before the window is shown for the first time.
  ///
  /// - Parameters:
  ///   - window: The pointer of the `GtkWindow`, from whatever binding the program uses.
  ///   - scene: The name of the scene, which is free again when this window is closed.
  ///   - gate: The gate of all windows of the program.
  ///   - prompt: The prompt that shows the gate's questions on the cover; `nil` when the program
  ///     or the desktop shows them in another way.
  /// - Throws: ``GTKSceneError`` with `noDisplay`, `notAWindow`, `wrongThread`; `alreadyConnected`
  ///   for a window that was connected before, to whatever gate; `sceneInUse` when another window
  ///   is this scene of the gate.
  @discardableResult
  public init(
    _ window: OpaquePointer, as scene: SceneIdentifier, behind gate: AuthenticationGate,
    prompt: CoverPrompt? = nil
  ) throws(GTKSceneError) {
    guard GTKThread.isCurrent else { throw .wrongThread }
    self.window = unsafe try Widget(window: window)
    guard !self.window.hasMark else { throw .alreadyConnected }
    guard SceneOwners.shared.take(scene, of: gate) else { throw .sceneInUse(scene) }
    self.window.mark()
    (self.scene, self.gate, self.prompt) = (scene, gate, prompt)
    cover = Cover(over: self.window) {
      // The window receives a failure as every scene does.
      Task { try? await gate.authenticate(in: scene) }
    }
    connect()
  }

  private func connect() {
    for signal in ["map", "unmap"] { window.connect(signal) { [self] in updateSoon() } }
    window.connect("notify::focus-widget") { [self] in updateSoon() }
    // A window that is minimized draws no frame, and screen readers find it.
    window.onChangeOfChildren { [weak self] in self?.updateSoon() }
    window.connect("realize") { [self] in realize() }
    window.connect("unrealize") { [self] in frames = nil }
    window.connect("destroy") { [self] in
      leave()
      cover.remove()
    }
    if window.isRealized { realize() }
    ProgramFocus.shared.add(self) { [unowned self] in updateSoon() }
    prompt?.add(self)
    let read: @Sendable () -> Void = { [weak self] in self?.readReports() }
    report { [reports] gate, scene in gate.connect(scene) { reports.add($0, read) } }
    // The state is reported before the gate wipes what it guards, a directive only after that.
    following = Task { [reports, states = gate.states] in
      for await _ in states { reports.add(nil, read) }
    }
    update()
    cover.show(content, nil)
  }

  private func realize() {
    frames = window.connectFrames { [unowned self] in
      update()
    } layout: { [unowned self] in
      cover.layOut()
    }
    window.connectState { [self] in updateSoon() }
  }

  /// Ends the scene: the program has closed the window, which exists until all references to it
  /// are released, or the window ends.
  private func leave() {
    guard !hasLeft else { return }
    hasLeft = true
    frames = nil
    following?.cancel()
    ProgramFocus.shared.remove(self)
    prompt?.remove(self)
    SceneOwners.shared.release(scene, of: gate)
    report { gate, scene in gate.disconnect(scene) }
  }

  // MARK: - The window

  private var presence: Presence {
    window.isVisible ? window.isFocused ? .active : .visible : .hidden
  }

  /// Updates when all events that have arrived are handled: opening a menu, or changing to another
  /// window of the program, takes the focus away and gives it back.
  private func updateSoon() {
    if isUpdateDue { return }
    isUpdateDue = true
    GTKThread.performBeforeFrame { [weak self] in self?.update() }
  }

  /// Covers or uncovers the content, and reports changes to the gate.
  ///
  /// Called before each frame as well, so that none shows what the gate has locked meanwhile.
  private func update() {
    isUpdateDue = false
    if !ProgramFocus.shared.has(window) { leave() }
    if hasLeft { return }
    let presence = presence
    let isLocked = gate.requiresAuthentication
    cover.set(
      isShown: isLocked || presence == .hidden || !ProgramFocus.shared.isHere, isModal: isLocked)
    if presence == reported { return }
    let event: SceneEvent =
      switch (reported, presence) {
      case (_, .active): .didBecomeActive
      case (_, .hidden): .didEnterBackground
      case (.active, .visible): .willResignActive
      case (_, .visible): .willEnterForeground
      }
    reported = presence
    report { gate, scene in gate.handle(event, in: scene) }
  }

  private func report(_ call: @escaping @Sendable (AuthenticationGate, SceneIdentifier) -> Void) {
    Self.gateQueue.async { [gate, scene] in call(gate, scene) }
  }

  // MARK: - The gate

  /// Whether this window shows the question.
  var isPresenter: Bool {
    if case .authenticating(isPresenter: true) = directive { true } else { false }
  }

  private func readReports() {
    guard let unread = reports.take(), !hasLeft else { return }
    guard let directive = unread.directive else { return updateSoon() }
    self.directive = directive
    if unread.hasEnded { prompt?.forgetMessage() }
    prompt?.present()
    refresh()
  }

  /// Shows a question and a message of the prompt, or no longer.
  func show(_ question: OpenQuestion?, _ message: AuthenticationMessage?) {
    (self.question, self.message) = (question, message)
    refresh()
  }

  private var content: Cover.Content {
    if let question { return .question(question) }
    return switch directive {
    case .authenticated: .veil
    case .locked: .locked
    case .authenticating: .waiting
    case .failed(let error): .failure(error)
    }
  }

  private func refresh() {
    cover.show(content, message)
    window.draw()
    updateSoon()
  }
}

/// What a gate has reported since GTK's thread last read it.
///
/// However often other threads call the gate, at most one call of the main loop is under way, so
/// that they cannot hold it up.
final class GateReports: Sendable {
  struct Unread {
    /// The newest directive; `nil` when there was none.
    var directive: SceneDirective?
    /// Whether an evaluation has ended.
    var hasEnded = false
  }

  private let unread = Mutex<Unread?>(nil)

  /// Adds a directive, or the news that the gate's state has changed.
  ///
  /// - Parameters:
  ///   - directive: The directive; `nil` for a change of the state.
  ///   - read: Called on GTK's thread, unless an earlier call is still due.
  func add(_ directive: SceneDirective? = nil, _ read: @escaping @Sendable () -> Void) {
    let isFirst = unread.withLock { unread in
      let isFirst = unread == nil
      var new = unread ?? Unread()
      if let directive {
        new.directive = directive
        if case .authenticating = directive {} else { new.hasEnded = true }
      }
      unread = new
      return isFirst
    }
    if isFirst { GTKThread.perform(read) }
  }

  /// Returns what is unread, and forgets it.
  func take() -> Unread? { unread.withLock { $0.take() } }
}

/// Which window is which scene of which gate, so that no window reports or ends another's scene.
///
/// It is used on GTK's thread only: this justifies the unchecked conformance.
final class SceneOwners: @unchecked Sendable {
  static let shared = SceneOwners()

  private struct Key: Hashable {
    /// The gate exists as long as one of its windows.
    let gate: ObjectIdentifier
    let scene: SceneIdentifier
  }

  private var owned: Set<Key> = []

  /// Takes a scene for a window that owns it until `release`.
  ///
  /// - Returns: `false` if another window owns it.
  func take(_ scene: SceneIdentifier, of gate: AuthenticationGate) -> Bool {
    owned.insert(Key(gate: ObjectIdentifier(gate), scene: scene)).inserted
  }

  func release(_ scene: SceneIdentifier, of gate: AuthenticationGate) {
    owned.remove(Key(gate: ObjectIdentifier(gate), scene: scene))
  }
}
#endif
