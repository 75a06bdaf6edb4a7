import CSessionToolsGIO
import Foundation
import Glibc
import Synchronization

/// The thread on which GLib delivers replies and signals: one for the process.
///
/// GLib calls back on the main context that was the thread's default when a call was made, so every
/// call that will be answered begins here. Nothing here may block.
///
/// `GMainContext` may be used from any thread, and the pointer never changes: this justifies the
/// unchecked conformance.
@safe package final class MainLoop: @unchecked Sendable {
  package static let shared = MainLoop()

  private let context: OpaquePointer

  private init() {
    guard let context = unsafe g_main_context_new() else {
      preconditionFailure("GLib ends the process when there is no memory")
    }
    unsafe self.context = unsafe context
    let thread = Thread { [self] in
      unsafe g_main_context_push_thread_default(self.context)
      let loop = unsafe g_main_loop_new(self.context, 0)
      unsafe g_main_loop_run(loop)
    }
    thread.name = "session-tools.dbus"
    // Signals are for the program's threads: a thread that waits for one must not miss it.
    var everySignal = sigset_t()
    var before = sigset_t()
    unsafe sigfillset(&everySignal)
    unsafe pthread_sigmask(SIG_SETMASK, &everySignal, &before)
    thread.start()
    unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
  }

  /// Runs a closure on the thread, soon.
  func perform(_ body: @escaping @Sendable () -> Void) {
    let call = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    unsafe g_main_context_invoke_full(context, G_PRIORITY_DEFAULT, run, call, release)
  }

  /// Runs a closure on the thread after a delay, unless the returned call is released before.
  ///
  /// It does not use a task's sleep, which would be late when the program's tasks block their
  /// threads.
  package func perform(
    after delay: Duration, _ body: @escaping @Sendable () -> Void
  ) -> DelayedCall {
    let source = unsafe g_timeout_source_new(guint(delay.milliseconds))
    let call = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    unsafe g_source_set_callback(source, run, call, release)
    unsafe g_source_attach(source, context)
    return unsafe DelayedCall(taking: source)
  }

  /// Runs a closure on the thread once a descriptor can be read or its other end was closed, unless
  /// the returned call is released before.
  ///
  /// The descriptor must stay open for as long as the call exists.
  func perform(
    whenReadable descriptor: Int32, _ body: @escaping @Sendable () -> Void
  ) -> DelayedCall {
    let condition = GIOCondition(G_IO_IN.rawValue | G_IO_HUP.rawValue | G_IO_ERR.rawValue)
    let source = unsafe g_unix_fd_source_new(descriptor, condition)
    let call = unsafe Unmanaged.passRetained(Box(body)).toOpaque()
    let callback: @convention(c) (gint, GIOCondition, UnsafeMutableRawPointer?) -> gboolean = {
      _, _, pointer in unsafe run(pointer)
    }
    unsafe g_source_set_callback(
      source, unsafeBitCast(callback, to: GSourceFunc.self), call, release)
    unsafe g_source_attach(source, context)
    return unsafe DelayedCall(taking: source)
  }
}

/// Runs the closure in a box, once.
private let run: GSourceFunc = { pointer in
  guard let pointer = unsafe pointer else { return 0 }
  unsafe Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(pointer).takeUnretainedValue().value()
  return 0  // G_SOURCE_REMOVE
}

/// Releases the box.
private let release: GDestroyNotify = { pointer in
  guard let pointer = unsafe pointer else { return }
  unsafe Unmanaged<Box<@Sendable () -> Void>>.fromOpaque(pointer).release()
}

/// A call that happens later, or when a descriptor can be read, unless it is released before.
///
/// A `GSource` may be destroyed from any thread: this justifies the unchecked conformance.
@safe package final class DelayedCall: @unchecked Sendable {
  private let source: UnsafeMutablePointer<GSource>?

  init(taking source: UnsafeMutablePointer<GSource>?) {
    unsafe self.source = unsafe source
  }

  deinit {
    unsafe g_source_destroy(source)
    unsafe g_source_unref(source)
  }
}

extension Duration {
  /// The duration for GLib; at least one, since zero and less have another meaning there.
  var milliseconds: gint {
    let (seconds, attoseconds) = components
    let whole = min(seconds, Int64(gint.max) / 1000 - 1) * 1000
    return gint(max(1, whole + attoseconds / 1_000_000_000_000_000))
  }
}

/// A carrier of a value through a C callback, perhaps to another thread.
///
/// GLib's locks order the accesses of both threads, but race detectors do not see that: the flag is
/// for them.
final class Box<Value: Sendable>: Sendable {
  private let content: Value
  private let isMade = Atomic(false)

  init(_ value: Value) {
    content = value
    isMade.store(true, ordering: .releasing)
  }

  var value: Value {
    _ = isMade.load(ordering: .acquiring)
    return content
  }
}
