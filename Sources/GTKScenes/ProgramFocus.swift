#if GTKScenes
import CSessionToolsGTK

/// Whether any window of the program has the focus, gated or not, such as a dialog.
///
/// It is used on GTK's thread only: this justifies the unchecked conformance.
final class ProgramFocus: @unchecked Sendable {
  static let shared = ProgramFocus()

  private var receivers: [ObjectIdentifier: () -> Void] = [:]
  private var windows: Set<Widget> = []
  private var isWatching = false

  /// Whether a window has the focus.
  var isHere: Bool { windows.contains(where: \.isFocused) }

  /// Whether a window of the program was not closed yet.
  func has(_ window: Widget) -> Bool { windows.contains(window) }

  /// Calls a closure at each change, until `remove` is called for the same object.
  func add(_ object: AnyObject, _ receive: @escaping () -> Void) {
    if !isWatching {
      isWatching = true
      Widget.onChangeOfToplevels { [self] in watch() }
      watch()
    }
    receivers[ObjectIdentifier(object)] = receive
  }

  func remove(_ object: AnyObject) { receivers[ObjectIdentifier(object)] = nil }

  private func watch() {
    let now = Widget.toplevels
    for window in now.subtracting(windows) {
      window.connect("notify::is-active") { [self] in report() }
    }
    windows = now
    report()
  }

  private func report() { for receive in receivers.values { receive() } }
}
#endif
