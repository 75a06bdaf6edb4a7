import CGIO
import Synchronization

/// A `GCancellable`, which any thread may cancel, and the reason.
@safe final class Cancellation: @unchecked Sendable {
  let pointer = unsafe g_cancellable_new()
  private let firstReason = Mutex<DBusError.Kind?>(nil)

  /// The reason for the cancellation.
  var reason: DBusError.Kind { firstReason.withLock { $0 } ?? .cancelled }

  func cancel(_ reason: DBusError.Kind) {
    firstReason.withLock { $0 = $0 ?? reason }
    unsafe g_cancellable_cancel(pointer)
  }

  deinit {
    unsafe g_object_unref(pointer)
  }
}
