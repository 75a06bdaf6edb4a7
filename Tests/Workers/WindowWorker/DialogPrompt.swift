#if GTKScenes
import CSessionToolsGTK
import SessionAuthentication
import SessionToolsBase

/// A prompt of the program's own: a dialog over a window.
///
/// It is used on GTK's thread only: this justifies the unchecked conformance.
@safe final class DialogPrompt: AuthenticationPrompt, @unchecked Sendable {
  /// Returns the window that the dialog belongs to.
  var parent: () -> OpaquePointer? = { nil }
  private var dialog: Dialog?

  func answer(
    to question: AuthenticationQuestion
  ) async throws(AuthenticationError) -> SecretBytes {
    await withCheckedContinuation { waiting in
      onGTKThread { [self] in
        dialog = unsafe Dialog(over: parent()) { [self] text in
          waiting.resume(returning: text)
          dialog = nil
        }
      }
    }
  }

  func show(_ message: AuthenticationMessage) async {}

  /// Whether the dialog is there, has the keyboard, and its entry has the focus.
  var isFocused: Bool { dialog?.isFocused ?? false }
}

@safe private final class Dialog {
  private let window: UnsafeMutablePointer<GtkWindow>
  private let entry: UnsafeMutablePointer<GtkWidget>
  private let end: (SecretBytes) -> Void

  init(over parent: OpaquePointer?, _ end: @escaping (SecretBytes) -> Void) {
    unsafe window = UnsafeMutablePointer<GtkWindow>(OpaquePointer(gtk_window_new()))
    unsafe entry = gtk_password_entry_new()
    self.end = end
    unsafe gtk_window_set_title(window, "dialog")
    unsafe gtk_window_set_child(window, entry)
    unsafe gtk_window_set_transient_for(window, parent.map { unsafe .init($0) })
    unsafe gtk_window_set_modal(window, 1)
    let callback: @convention(c) (gpointer?, gpointer?) -> Void = { _, data in
      if let data = unsafe data {
        unsafe Unmanaged<Dialog>.fromOpaque(data).takeUnretainedValue().close()
      }
    }
    unsafe _ = g_signal_connect_data(
      entry, "activate", unsafeBitCast(callback, to: GCallback.self),
      Unmanaged.passUnretained(self).toOpaque(), nil, GConnectFlags(rawValue: 0))
    unsafe gtk_window_present(window)
  }

  var isFocused: Bool {
    unsafe gtk_window_is_active(window) != 0 && gtk_window_get_focus(window) != nil
  }

  private func close() {
    let text = unsafe SecretBytes(utf8: String(cString: gtk_editable_get_text(.init(entry))))
    unsafe gtk_window_destroy(window)
    end(text)
  }
}
#endif
