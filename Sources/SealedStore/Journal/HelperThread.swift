import CLinux
import SecretStores

/// A thread that helps the one that starts it, at once and for some milliseconds.
enum HelperThread {
  /// Starts a thread on a processor other than the caller's.
  ///
  /// There is no thread in a forked child, and when there is no such processor or no thread can be
  /// created, so the caller must be able to do all of the work.
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
