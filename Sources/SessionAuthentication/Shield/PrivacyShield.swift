import Synchronization

/// Obscures what a scene shows while there is any reason to, and gives the focus back afterwards.
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
/// It is over the content of a window, and owns, hides and closes none: a question or a login that is
/// shown in another goes on whatever it does. Several reasons at a time obscure once.
public final class PrivacyShield: Sendable {
  /// Why the content is obscured.
  public struct Reason: Hashable, Sendable, CustomStringConvertible {
    /// Its name.
    public let description: String

    /// Names a reason of the program's own.
    public init(_ name: String) {
      description = name
    }

    /// The scene does not have the focus.
    public static let inactive = Reason("inactive")
    /// Nobody is authenticated.
    public static let locked = Reason("locked")
  }

  private let reasonsNow: Mutex<Set<Reason>>
  private let calls = OrderedCalls()
  private let obscure: @Sendable () -> Void
  private let reveal: @Sendable () -> Void

  /// Describes how content is obscured and revealed, and obscures it if there are reasons already.
  ///
  /// The closures are called in turn, never at the same time, on the thread that gave the reason or
  /// took it away, or on one that was about to call the other.
  ///
  /// - Parameters:
  ///   - reasons: The reasons there are to begin with.
  ///   - obscure: Covers the content; returns what has the focus.
  ///   - reveal: Uncovers it; gets what had the focus.
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

  /// Describes how content is obscured and revealed where the focus takes care of itself.
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

  /// Why the content is obscured; empty when it is not.
  public var reasons: Set<Reason> { reasonsNow.withLock { $0 } }

  /// Whether the content is obscured, or about to be.
  public var isObscured: Bool { !reasons.isEmpty }

  /// Gives a reason; with the first one the content is obscured.
  public func insert(_ reason: Reason) {
    change { $0.insert(reason) }
  }

  /// Takes a reason away; with the last one the content is revealed.
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

  /// Takes what happens to a scene for a reason: it is obscured from when it loses the focus until it
  /// has it again.
  public func handle(_ event: SceneEvent) {
    switch event {
    case .didBecomeActive: remove(.inactive)
    case .willResignActive, .didEnterBackground: insert(.inactive)
    case .willEnterForeground: break
    }
  }

  /// Takes what a gate says for a reason.
  public func handle(_ directive: SceneDirective) {
    switch directive {
    case .authenticated: remove(.locked)
    case .locked, .authenticating, .failed: insert(.locked)
    }
  }
}

/// What had the focus when the content was obscured.
private final class FocusBox<Focus: Sendable>: Sendable {
  private let focus = Mutex<Focus?>(nil)

  func put(_ new: Focus?) { focus.withLock { $0 = new } }
  func take() -> Focus? { focus.withLock { $0.take() } }
}
