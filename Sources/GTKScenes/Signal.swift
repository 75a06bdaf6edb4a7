#if GTKScenes
import CSessionToolsGTK

/// A closure that handles a signal of a GObject.
@safe final class Signal {
  /// Receives the signal's values, of which the first is the object.
  typealias Handler = (_ values: UnsafePointer<GValue>) -> Bool

  private let handler: Handler

  private init(_ handler: @escaping Handler) { unsafe self.handler = unsafe handler }

  /// Connects a closure, which is released with the object or when it is disconnected.
  ///
  /// - Parameters:
  ///   - object: The object that sends the signal.
  ///   - name: The name of the signal.
  ///   - after: Whether the closure is called after the object's own handler.
  ///   - handler: Returns whether the event was handled, for signals that ask for it.
  /// - Returns: The number of the connection.
  @discardableResult
  static func connect(
    _ object: UnsafeMutableRawPointer?, _ name: String, after: Bool = false,
    _ handler: @escaping Handler
  ) -> UInt {
    let data = unsafe Unmanaged.passRetained(Signal(handler)).toOpaque()
    let closure = unsafe g_closure_new_simple(UInt32(MemoryLayout<GClosure>.size), data)
    unsafe g_closure_add_finalize_notifier(closure, data) { data, _ in
      if let data = unsafe data { unsafe Unmanaged<Signal>.fromOpaque(data).release() }
    }
    unsafe g_closure_set_marshal(closure) { closure, result, _, values, _, _ in
      guard let data = unsafe closure?.pointee.data, let values = unsafe values else { return }
      let isHandled = unsafe Unmanaged<Signal>.fromOpaque(data).takeUnretainedValue()
        .handler(values)
      if let result = unsafe result { unsafe g_value_set_boolean(result, isHandled ? 1 : 0) }
    }
    return unsafe g_signal_connect_closure(object, name, closure, after ? 1 : 0)
  }
}

/// The connections to the frames of a window, while it is realized.
@safe final class FrameSignals {
  private let clock: OpaquePointer
  private var connections: [UInt] = []

  init(_ clock: OpaquePointer, before: @escaping () -> Void, layout: @escaping () -> Void) {
    unsafe self.clock = unsafe clock
    unsafe _ = g_object_ref(UnsafeMutableRawPointer(clock))
    connect("before-paint", before)
    // The window gives its widgets their place in a handler before.
    connect("layout", layout)
  }

  deinit {
    for connection in connections {
      unsafe g_signal_handler_disconnect(UnsafeMutableRawPointer(clock), connection)
    }
    unsafe g_object_unref(UnsafeMutableRawPointer(clock))
  }

  private func connect(_ signal: String, _ handle: @escaping () -> Void) {
    connections.append(
      unsafe Signal.connect(UnsafeMutableRawPointer(clock), signal, after: true) { _ in
        handle()
        return false
      })
  }
}
#endif
