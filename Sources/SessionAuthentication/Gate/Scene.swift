/// The name of a scene: a window, or another part of a program that comes to the front and leaves.
public struct SceneIdentifier: Hashable, Sendable, ExpressibleByStringLiteral,
  CustomStringConvertible
{
  /// The name.
  public let description: String

  /// Names a scene.
  public init(_ name: String) {
    description = name
  }

  /// Names a scene.
  public init(stringLiteral name: String) {
    self.init(name)
  }
}

/// An event of a scene, as the program's toolkit reports it.
public enum SceneEvent: Hashable, Sendable, CaseIterable {
  /// It received the focus.
  case didBecomeActive
  /// It is losing the focus.
  case willResignActive
  /// It was minimized or hidden.
  case didEnterBackground
  /// It is about to be visible again.
  case willEnterForeground
}

/// The gate's instruction to a scene.
public enum SceneDirective: Sendable {
  /// The content may not be seen.
  case locked
  /// The person is being asked; one scene, the presenter, shows whatever must be shown.
  case authenticating(isPresenter: Bool)
  /// The content may be seen.
  case authenticated
  /// The authentication failed: show the reason and a way to try again, which is
  /// ``AuthenticationGate/authenticate(in:)``.
  case failed(AuthenticationError)
}
