#if GTKScenes
public import SessionAuthentication
public import SessionToolsBase

/// A prompt that shows questions on the cover of the window that presents them.
///
/// Give the same prompt to the authenticator and to the program's windows. While no window is
/// connected, a question waits for one, within its time limit.
///
/// Its properties are used on GTK's thread only: this justifies the unchecked conformance.
public final class CoverPrompt: AuthenticationPrompt, @unchecked Sendable {
  private var windows: [GatedWindow] = []
  private var question: OpenQuestion?
  private var message: AuthenticationMessage?

  /// Makes a prompt without windows.
  public init() {}

  /// Shows a question, and waits for its answer until its task is cancelled.
  ///
  /// The answer is copied from GTK's locked memory, and removed there.
  ///
  /// - Throws: `userCancel`, `userFallback`.
  public func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    let open = OpenQuestion(question)
    GTKThread.perform { self.set(open) }
    defer { GTKThread.perform { self.remove(open) } }
    return try await open.answer()
  }

  /// Shows a message beside the question, or instead of one.
  public func show(_ message: AuthenticationMessage) async {
    GTKThread.perform {
      self.message = message
      self.present()
    }
  }

  // MARK: - On GTK's thread

  func add(_ window: GatedWindow) {
    windows.append(window)
    present()
  }

  func remove(_ window: GatedWindow) {
    windows.removeAll { $0 === window }
    present()
  }

  /// The evaluation has ended, and with it what was said about it.
  func forgetMessage() { message = nil }

  /// Shows the question in the window that presents, or else in the newest one.
  func present() {
    let presenter = windows.last(where: \.isPresenter) ?? windows.last
    for window in windows where window !== presenter { window.show(nil, nil) }
    presenter?.show(question, message)
  }

  private func set(_ question: OpenQuestion) {
    if question.isAnswered { return }
    self.question?.end(.failure(.cancelledByPerson))
    (self.question, message) = (question, nil)
    present()
  }

  private func remove(_ question: OpenQuestion) {
    guard self.question === question else { return }
    self.question = nil
    present()
  }
}
#endif
