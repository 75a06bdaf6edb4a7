/// Names a scene: a window, or whatever else of a program comes to the front and goes.
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

/// What happens to a scene, as the program's toolkit reports it.
public enum SceneEvent: Hashable, Sendable, CaseIterable {
  /// It has the focus.
  case didBecomeActive
  /// It loses the focus.
  case willResignActive
  /// It was minimized or hidden.
  case didEnterBackground
  /// It is about to be seen again.
  case willEnterForeground
}

/// What a scene is told by the gate.
public enum SceneDirective: Sendable {
  /// Nobody may see the content.
  case locked
  /// Somebody is asked; one of the scenes, the presenter, shows what there is to show.
  case authenticating(isPresenter: Bool)
  /// The content may be seen.
  case authenticated
  /// Nobody was authenticated: show why, and a way to try again, which is
  /// ``AuthenticationGate/authenticate(in:)``.
  case failed(AuthenticationError)
}
