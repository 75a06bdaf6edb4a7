import Synchronization

/// A cover for a scene's content while there is a reason; it restores the focus afterwards.
///
/// ```swift
/// let shield = PrivacyShield {
///   let focused = window.focusedField
///   window.showCover()
///   return focused
/// } reveal: { focused in
///   window.removeCover()
///   focused?.focus()
/// }
/// ```
///
/// It covers the content of a window, and owns, hides and closes no window: a question or a login
/// in another window continues in any case. Several reasons at a time obscure once.
public final class PrivacyShield: Sendable {
  /// The reason why the content is obscured.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// The name.
    public let description: String

    /// Names a reason of the program.
    public init(_ name: String) {
      description = name
    }

    /// The scene does not have the focus.
    public static let inactive = Reason("inactive")
    /// The gate is locked.
    public static let locked = Reason("locked")
  }

  private let reasonsNow: Mutex<Set<Reason>>
  private let calls = OrderedCalls()
  private let obscure: @Sendable () -> Void
  private let reveal: @Sendable () -> Void

  /// Makes a shield, and obscures the content if there are reasons already.
  ///
  /// The closures are called in turn, never at the same time, on the thread that inserted or
  /// removed the reason, or on one that was about to call the other closure.
  ///
  /// - Parameters:
  ///   - reasons: The initial reasons.
  ///   - obscure: Covers the content; returns the element that has the focus.
  ///   - reveal: Uncovers the content; receives the element that had the focus.
  public init<Focus: Sendable>(
    reasons: Set<Reason> = [], obscure: @escaping @Sendable () -> Focus?,
    reveal: @escaping @Sendable (Focus?) -> Void
  ) {
    let focus = FocusBox<Focus>()
    self.obscure = { focus.put(obscure()) }
    self.reveal = { reveal(focus.take()) }
    reasonsNow = Mutex(reasons)
    if !reasons.isEmpty { self.obscure() }
  }

  /// Makes a shield for content whose focus needs no care.
  public convenience init(
    reasons: Set<Reason> = [], obscure: @escaping @Sendable () -> Void,
    reveal: @escaping @Sendable () -> Void
  ) {
    self.init(reasons: reasons) { () -> Int? in
      obscure()
      return nil
    } reveal: { _ in
      reveal()
    }
  }

  /// The reasons why the content is obscured; empty when it is not.
  public var reasons: Set<Reason> { reasonsNow.withLock { $0 } }

  /// Whether the content is obscured, or about to be.
  public var isObscured: Bool { !reasons.isEmpty }

  /// Adds a reason; the first one obscures the content.
  public func insert(_ reason: Reason) {
    change { $0.insert(reason) }
  }

  /// Removes a reason; removing the last one reveals the content.
  public func remove(_ reason: Reason) {
    change { $0.remove(reason) }
  }

  private func change(_ body: (inout Set<Reason>) -> Void) {
    reasonsNow.withLock { reasons in
      let wasObscured = !reasons.isEmpty
      body(&reasons)
      if reasons.isEmpty == wasObscured { calls.add(wasObscured ? reveal : obscure) }
    }
    calls.run()
  }

  /// Obscures the content from when the scene loses the focus until it has the focus again.
  public func handle(_ event: SceneEvent) {
    switch event {
    case .didBecomeActive: remove(.inactive)
    case .willResignActive, .didEnterBackground: insert(.inactive)
    case .willEnterForeground: break
    }
  }

  /// Obscures the content unless the gate is open.
  public func handle(_ directive: SceneDirective) {
    switch directive {
    case .authenticated: remove(.locked)
    case .locked, .authenticating, .failed: insert(.locked)
    }
  }
}

/// The element that had the focus when the content was obscured.
private final class FocusBox<Focus: Sendable>: Sendable {
  private let focus = Mutex<Focus?>(nil)

  func put(_ new: Focus?) { focus.withLock { $0 = new } }
  func take() -> Focus? { focus.withLock { $0.take() } }
}
