#if GTKScenes
import CSessionToolsGTK
import GTKScenes
import SessionAuthentication

/// A window with the list of messages, or with one message, until the person closes it.
///
/// It is used on GTK's thread only: this justifies the unchecked conformance.
@safe final class MailWindow: @unchecked Sendable {
  private(set) var isOpen = true
  private let builder: OpaquePointer

  init(_ scene: SceneIdentifier, _ title: String, _ content: String, _ mail: Mail) throws {
    unsafe builder = gtk_builder_new_from_string(Self.description(title, content), -1)
    guard let window = unsafe object("window") else { preconditionFailure("it is described") }
    unsafe try GatedWindow(OpaquePointer(window), as: scene, behind: mail.gate, prompt: mail.prompt)
    connect("window", "close-request") { [unowned self] in isOpen = false }
    connect("sign-in", "clicked") { attempt { try await mail.signIn() } }
    connect("sign-out", "clicked") { attempt { try await mail.signOut() } }
    connect("lock", "clicked") { attempt { mail.gate.invalidate() } }  // not on GTK's thread
    unsafe gtk_window_present(window.assumingMemoryBound(to: GtkWindow.self))
  }

  private func object(_ name: String) -> UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(gtk_builder_get_object(builder, name))
  }

  /// Shows the mail, or else the way to sign in.
  func show(isSignedIn: Bool) {
    for name in ["welcome", "mail", "lock", "sign-out"] {
      let widget = unsafe object(name)?.assumingMemoryBound(to: GtkWidget.self)
      unsafe gtk_widget_set_visible(widget, isSignedIn == (name != "welcome") ? 1 : 0)
    }
  }

  private func connect(_ name: String, _ signal: String, _ handle: @escaping () -> Void) {
    let callback: @convention(c) (gpointer?, gpointer?) -> gboolean = { _, data in
      if let data = unsafe data {
        unsafe Unmanaged<Call>.fromOpaque(data).takeUnretainedValue().body()
      }
      return 0
    }
    unsafe _ = g_signal_connect_data(
      object(name), signal, unsafeBitCast(callback, to: GCallback.self), Call(handle).retained, nil,
      GConnectFlags(rawValue: 0))
  }

  private static func description(_ title: String, _ content: String) -> String {
    """
    <interface>
      <object class="GtkWindow" id="window">
        <property name="title">\(title)</property><property name="default-width">420</property>
        <property name="default-height">400</property><property name="titlebar">
          <object class="GtkHeaderBar">
            <child>\(button("lock", "Lock"))</child><child>\(button("sign-out", "Sign Out"))</child>
          </object>
        </property>
        <property name="child">
          <object class="GtkBox"><property name="orientation">vertical</property>
            <child>
              <object class="GtkCenterBox" id="welcome">
                <property name="visible">0</property><property name="vexpand">1</property>
                <child type="center">\(button("sign-in", "Sign In With the Browser"))</child>
              </object>
            </child>
            <child>
              <object class="GtkLabel" id="mail">
                <property name="visible">0</property><property name="wrap">1</property>
                <property name="label">\(content)</property>
                <property name="use-markup">1</property><property name="xalign">0</property>
                <property name="margin-top">12</property><property name="margin-start">18</property>
              </object>
            </child>
          </object>
        </property>
      </object>
    </interface>
    """
  }

  private static func button(_ name: String, _ title: String) -> String {
    """
    <object class="GtkButton" id="\(name)">
      <property name="label">\(title)</property><property name="valign">center</property>
      <property name="visible">\(name == "sign-in" ? 1 : 0)</property>
    </object>
    """
  }
}

/// Calls a closure on GTK's thread.
func onGTKThread(_ body: @escaping @Sendable () -> Void) {
  unsafe g_idle_add_once(
    { data in
      if let data = unsafe data {
        unsafe Unmanaged<Call>.fromOpaque(data).takeRetainedValue().body()
      }
    }, Call(body).retained)
}

private final class Call {
  let body: () -> Void

  init(_ body: @escaping () -> Void) { self.body = body }

  var retained: UnsafeMutableRawPointer { unsafe Unmanaged.passRetained(self).toOpaque() }
}
#endif
