package import CSessionToolsGIO
import Synchronization

/// Begins a GLib operation on the D-Bus thread and waits for it without blocking.
///
/// Cancelling the task, or the timeout, cancels the operation and returns at once.
///
/// - Parameters:
///   - timeout: How long it may take; `nil` when the operation has its own timeout.
///   - begin: Calls the GLib function that begins the operation, with the given cancellable,
///     callback and data.
///   - finish: Calls the GLib function that ends the operation.
/// - Returns: The result of `finish`.
/// - Throws: The error of `finish`, `timedOut` or `cancelled`.
package func asyncOperation<Value: Sendable>(
  timeout: Duration?,
  begin:
    @escaping @Sendable (
      UnsafeMutablePointer<GCancellable>?, @escaping GAsyncReadyCallback, UnsafeMutableRawPointer
    ) -> Void,
  finish:
    @escaping @Sendable (
      OpaquePointer?, _ error: UnsafeMutablePointer<UnsafeMutablePointer<GError>?>
    ) -> Value?
) async throws(DBusError) -> Value {
  let cancellation = Cancellation()
  let timer = timeout.map { timeout in
    MainLoop.shared.perform(after: timeout) { cancellation.cancel(.timedOut) }
  }
  defer { withExtendedLifetime(timer) {} }
  let result = await withTaskCancellationHandler {
    await withCheckedContinuation { continuation in
      let pending = unsafe Pending { result in
        var error: UnsafeMutablePointer<GError>?
        if let value = unsafe finish(result, &error) {
          continuation.resume(returning: Result<Value, DBusError>.success(value))
        } else if let error = unsafe error {
          continuation.resume(returning: unsafe .failure(DBusError(taking: error)))
        } else {
          continuation.resume(returning: .failure(DBusError(.disconnected, "no answer")))
        }
      }
      MainLoop.shared.perform {
        unsafe begin(
          cancellation.pointer,
          { _, result, data in
            guard let data = unsafe data else { return }
            unsafe Unmanaged<Pending>.fromOpaque(data).takeRetainedValue().finish(result)
          }, Unmanaged.passRetained(pending).toOpaque())
      }
    }
  } onCancel: {
    cancellation.cancel(.cancelled)
  }
  do throws(DBusError) {
    return try result.get()
  } catch let error where error.kind == .cancelled {
    throw DBusError(cancellation.reason, error.message)
  }
}

/// The callback for the end of an operation.
@safe private final class Pending: Sendable {
  let finish: @Sendable (OpaquePointer?) -> Void

  init(finish: @escaping @Sendable (OpaquePointer?) -> Void) {
    unsafe self.finish = unsafe finish
  }
}

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
