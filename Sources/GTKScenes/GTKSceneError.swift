#if GTKScenes
import SessionAuthentication

/// The reason why a window could not be connected to a gate; the kinds differ in what to do next.
public struct GTKSceneError: Error, Sendable {
  /// The kind of failure; later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    /// GTK has no display: the program runs without a desktop, or has not initialized GTK.
    public static let noDisplay = Code(description: "noDisplay")
    /// The object is not a `GtkWindow`.
    public static let notAWindow = Code(description: "notAWindow")
    /// The window is connected to a gate already.
    public static let alreadyConnected = Code(description: "alreadyConnected")
    /// Another window is this scene of the gate, and was not closed yet.
    public static let sceneInUse = Code(description: "sceneInUse")
    /// The calling thread does not run GTK's main loop.
    public static let wrongThread = Code(description: "wrongThread")
  }

  /// The kind of failure.
  public let code: Code
  /// What happened: one sentence without its full stop.
  public let reason: String
  /// What to do about it: one sentence without its full stop.
  public let remedy: String
}

extension GTKSceneError: CustomStringConvertible {
  /// What happened and what to do.
  public var description: String { "\(reason). \(remedy)." }
}

extension GTKSceneError {
  static var noDisplay: GTKSceneError {
    GTKSceneError(
      code: .noDisplay, reason: "GTK has no display",
      remedy: "Start the program on a desktop, and connect its windows after gtk_init")
  }

  static var notAWindow: GTKSceneError {
    GTKSceneError(
      code: .notAWindow, reason: "the object is not a GtkWindow",
      remedy: "Give the pointer of the window, not of a widget in it")
  }

  static var alreadyConnected: GTKSceneError {
    GTKSceneError(
      code: .alreadyConnected, reason: "the window is connected to a gate already",
      remedy: "Connect each window once")
  }

  static func sceneInUse(_ scene: SceneIdentifier) -> GTKSceneError {
    GTKSceneError(
      code: .sceneInUse, reason: "another window is the scene \"\(scene)\" of this gate",
      remedy: "Give each window a name of its own, or close the other window before")
  }

  static var wrongThread: GTKSceneError {
    GTKSceneError(
      code: .wrongThread, reason: "another thread runs GTK's main loop",
      remedy: "Connect windows on the thread that makes them")
  }
}
#endif
