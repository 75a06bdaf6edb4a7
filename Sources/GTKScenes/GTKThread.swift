#if GTKScenes
import CSessionToolsGTK

/// The thread of GTK's main loop, on which alone GTK is called.
enum GTKThread {
  private final class Call: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }

  /// Whether this thread runs the main loop, or could: while it does not run, any thread may.
  static var isCurrent: Bool {
    let context = unsafe g_main_context_default()
    if unsafe g_main_context_is_owner(context) != 0 { return true }
    guard unsafe g_main_context_acquire(context) != 0 else { return false }
    unsafe g_main_context_release(context)
    return true
  }

  /// Calls a closure from the main loop, soon and in the order of these calls.
  ///
  /// On GTK's thread as well it is called later, or what other threads reported before would come
  /// after it.
  static func perform(_ body: @escaping @Sendable () -> Void) {
    add(body, priority: G_PRIORITY_DEFAULT)
  }

  /// Calls a closure when all events that have arrived are handled, and before the next frame.
  static func performBeforeFrame(_ body: @escaping @Sendable () -> Void) {
    // Frames are drawn at GDK_PRIORITY_REDRAW, which is 120.
    add(body, priority: G_PRIORITY_HIGH_IDLE)
  }

  private static func add(_ body: @escaping @Sendable () -> Void, priority: Int32) {
    let call = unsafe Unmanaged.passRetained(Call(body)).toOpaque()
    unsafe _ = g_idle_add_full(
      priority,
      { data in
        if let data = unsafe data {
          unsafe Unmanaged<Call>.fromOpaque(data).takeUnretainedValue().body()
        }
        return 0
      }, call,
      { data in if let data = unsafe data { unsafe Unmanaged<Call>.fromOpaque(data).release() } })
  }
}
#endif
