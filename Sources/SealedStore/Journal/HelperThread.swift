import CLinux
import SessionToolsBase

/// A thread that runs beside the one that starts it, at once, for some milliseconds.
enum HelperThread {
  /// Starts a thread on another processor than the caller's; none in a forked child, and where there
  /// is no such processor or no thread to be had: who starts one can do its work.
  static func start(_ body: @escaping @Sendable () -> Void) {
    guard !CurrentProcess.isForkedChild else { return }
    let work = unsafe Unmanaged.passRetained(Work(body))
    let error = unsafe session_tools_start_elsewhere(
      { work in
        guard let work = unsafe work else { return nil }
        unsafe Unmanaged<Work>.fromOpaque(work).takeRetainedValue().body()
        return nil
      }, work.toOpaque())
    if error != 0 { unsafe work.release() }
  }

  private final class Work: Sendable {
    let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) { self.body = body }
  }
}
