#if GTKScenes
import CSessionToolsGTK
import Foundation

/// A window full of one color, with an entry, and a button with a shortcut.
@safe final class ColorWindow {
  private let color: String
  let pointer: OpaquePointer
  private let builder: OpaquePointer
  private var clickCount = 0
  /// The number of keys that a controller of the window has received.
  private(set) var keyCount = 0
  private var lastFrame: gint64 = 0
  /// The longest time between two frames, in milliseconds.
  private(set) var maximumGap: gint64 = 0

  init(_ color: String) {
    self.color = color
    let style = unsafe gtk_css_provider_new()
    unsafe session_tools_load_style(
      style, ".red { background: #ff0000; } .yellow, tooltip { background: #ffff00; }")
    unsafe gtk_style_context_add_provider_for_display(
      gdk_display_get_default(), OpaquePointer(style), 600)
    unsafe builder = gtk_builder_new_from_string(Self.description(color), -1)
    guard let window = unsafe gtk_builder_get_object(builder, "window") else {
      preconditionFailure("the description has a window")
    }
    unsafe pointer = OpaquePointer(window)
    connect("button", "clicked") { [unowned self] _ in clickCount += 1 }
    connect("window", "destroy") { name in say("destroyed \(name)") }
  }

  deinit { unsafe g_object_unref(UnsafeMutableRawPointer(builder)) }

  /// Reports the end of the window, and of its newest child, each with its thread.
  func reportEnd() {
    let cover = unsafe gtk_widget_get_last_child(widget)
    unsafe reportEnd("window", widget)
    unsafe reportEnd("cover", cover)
  }

  private func reportEnd(_ name: String, _ widget: UnsafeMutablePointer<GtkWidget>?) {
    let handler = unsafe Unmanaged.passRetained(
      Handler { [color] in say("freed \(name) of \(color) main=\(Thread.isMainThread)") })
    unsafe g_object_weak_ref(
      UnsafeMutableRawPointer(widget)?.assumingMemoryBound(to: GObject.self),
      { data, _ in
        if let data = unsafe data {
          unsafe Unmanaged<Handler>.fromOpaque(data).takeRetainedValue().call()
        }
      }, handler.toOpaque())
  }

  /// The middle of the button in the window, as `X Y`.
  var buttonPlace: String {
    var bounds = graphene_rect_t()
    guard let button = unsafe object("button")?.assumingMemoryBound(to: GtkWidget.self),
      unsafe gtk_widget_compute_bounds(button, widget, &bounds) != 0
    else { return "none" }
    let (origin, size) = (bounds.origin, bounds.size)
    return "\(Int(origin.x + size.width / 2)) \(Int(origin.y + size.height / 2))"
  }

  /// A widget that is no window.
  var button: OpaquePointer { unsafe OpaquePointer(object("button")) ?? pointer }

  /// A pointer to something else.
  static var anyPointer: OpaquePointer {
    OpaquePointer(UnsafeMutableRawPointer.allocate(byteCount: 64, alignment: 8))
  }

  private static func description(_ color: String) -> String {
    """
    <interface>
      <object class="GtkWindow" id="window">
        <property name="title">\(color)</property>
        <property name="default-width">420</property>
        <property name="default-height">460</property>
        <property name="child">
          <object class="GtkBox" id="content">
            <property name="orientation">vertical</property>
            <style><class name="\(color)"/></style>
            <child>\(label("Secret of \(color)"))</child>
            <child><object class="GtkEntry" id="entry"/></child>
            <child>
              <object class="GtkMenuButton" id="menu">
                <property name="label">Menu</property>
                <property name="popover">
                  <object class="GtkPopover">
                    <property name="child">\(label("Item"))</property>
                  </object>
                </property>
              </object>
            </child>
            <child>
              <object class="GtkMenuButton" id="panel">
                <property name="label">Panel</property>
                <property name="popover">
                  <object class="GtkPopover">
                    <property name="autohide">0</property>
                    <property name="child">
                      <object class="GtkBox">
                        <property name="width-request">150</property>
                        <property name="height-request">100</property>
                        <style><class name="yellow"/></style>
                      </object>
                    </property>
                  </object>
                </property>
              </object>
            </child>
            <child>
              <object class="GtkButton" id="button">
                <property name="label">_Delete</property>
                <property name="use-underline">1</property>
                <child>
                  <object class="GtkShortcutController">
                    <property name="scope">global</property>
                    <child>
                      <object class="GtkShortcut">
                        <property name="trigger">&lt;Control&gt;d</property>
                        <property name="action">activate</property>
                      </object>
                    </child>
                  </object>
                </child>
              </object>
            </child>
          </object>
        </property>
      </object>
    </interface>
    """
  }

  private static func label(_ text: String) -> String {
    "<object class='GtkLabel'><property name='label'>\(text)</property></object>"
  }

  private func object(_ name: String) -> UnsafeMutableRawPointer? {
    unsafe UnsafeMutableRawPointer(gtk_builder_get_object(builder, name))
  }

  private var widget: UnsafeMutablePointer<GtkWidget> {
    unsafe UnsafeMutablePointer<GtkWidget>(pointer)
  }
  private var window: UnsafeMutablePointer<GtkWindow> {
    unsafe UnsafeMutablePointer<GtkWindow>(pointer)
  }

  private func connect(_ name: String, _ signal: String, _ handle: @escaping (String) -> Void) {
    let handler = unsafe Unmanaged.passRetained(Handler { [color] in handle(color) }).toOpaque()
    let callback: @convention(c) (gpointer?, gpointer?) -> Void = { _, data in
      if let data = unsafe data {
        unsafe Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue().call()
      }
    }
    unsafe _ = g_signal_connect_data(
      object(name), signal, unsafeBitCast(callback, to: GCallback.self), handler, nil,
      GConnectFlags(rawValue: 0))
  }

  /// Changes the size of all text, and so the place of everything.
  func setTextSize(_ size: String) {
    let style = unsafe gtk_css_provider_new()
    unsafe session_tools_load_style(style, "* { font-size: \(size); }")
    unsafe gtk_style_context_add_provider_for_display(
      gtk_widget_get_display(widget), OpaquePointer(style), 600)
    unsafe g_object_unref(UnsafeMutableRawPointer(style))
  }

  /// Adds a style for all widgets, which precedes the program's own, as a person's style does.
  func setStyle(_ text: String) {
    let style = unsafe gtk_css_provider_new()
    unsafe session_tools_load_style(style, text)
    unsafe gtk_style_context_add_provider_for_display(
      gtk_widget_get_display(widget), OpaquePointer(style), 800)
    unsafe g_object_unref(UnsafeMutableRawPointer(style))
  }

  /// Replaces what the window shows, by a text.
  func replaceContent(by text: String) {
    unsafe gtk_window_set_child(window, gtk_label_new(text))
  }

  func show() { unsafe gtk_window_present(window) }
  func hide() { unsafe gtk_widget_set_visible(widget, 0) }
  func minimize() { unsafe gtk_window_minimize(window) }
  func destroy() { unsafe gtk_window_destroy(window) }
  func openMenu() {
    unsafe gtk_menu_button_popup(object("menu").map { OpaquePointer($0) })
  }
  /// Gives the focus to the entry, and leaves its selection as it is.
  func focusEntry() {
    let entry = unsafe object("entry")?.assumingMemoryBound(to: GtkWidget.self)
    unsafe session_tools_return_focus(window, gtk_widget_get_first_child(entry))
  }
  /// Opens a yellow surface that does not close by itself.
  func openPanel() {
    guard let panel = unsafe object("panel") else { return }
    // It may have been replaced.
    if unsafe gtk_widget_get_mapped(panel.assumingMemoryBound(to: GtkWidget.self)) == 0 { return }
    unsafe gtk_menu_button_popup(OpaquePointer(panel))
  }
  /// Gives the content a tooltip, which is yellow.
  func setTooltip() {
    unsafe gtk_widget_set_tooltip_text(
      object("content")?.assumingMemoryBound(to: GtkWidget.self), "secret secret secret secret")
  }

  /// Counts the keys that the window receives, in a controller that precedes those it has.
  func countKeys() {
    let controller = unsafe gtk_event_controller_key_new()
    unsafe gtk_event_controller_set_propagation_phase(controller, GTK_PHASE_CAPTURE)
    let callback: @convention(c) (gpointer?, guint, guint, guint, gpointer?) -> gboolean = {
      _, _, _, _, data in
      if let data = unsafe data {
        unsafe Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue().call()
      }
      return 0
    }
    let handler = Handler { [unowned self] in keyCount += 1 }
    unsafe _ = g_signal_connect_data(
      UnsafeMutableRawPointer(controller), "key-pressed",
      unsafeBitCast(callback, to: GCallback.self), Unmanaged.passRetained(handler).toOpaque(), nil,
      GConnectFlags(rawValue: 0))
    unsafe gtk_widget_add_controller(widget, controller)
  }

  /// Replaces what the window shows, by the same color.
  func replaceContent() {
    let content = unsafe gtk_box_new(GTK_ORIENTATION_VERTICAL, 0)
    unsafe gtk_widget_add_css_class(content, color)
    unsafe gtk_window_set_child(window, content)
  }

  /// The focus and the text in the entry.
  var state: String {
    let entry = unsafe object("entry").map { OpaquePointer($0) }
    var (start, end): (Int32, Int32) = (0, 0)
    unsafe gtk_editable_get_selection_bounds(entry, &start, &end)
    let focus = unsafe gtk_window_get_focus(window)
    let entryWidget = unsafe object("entry").map {
      unsafe $0.assumingMemoryBound(to: GtkWidget.self)
    }
    let isInEntry = unsafe focus != nil && gtk_widget_is_ancestor(focus, entryWidget) != 0
    let isAsked =
      unsafe focus != nil
      && gtk_widget_get_ancestor(focus, gtk_password_entry_get_type()) != nil
    let text = unsafe String(cString: gtk_editable_get_text(entry))
    let isPressed = unsafe object("button").map {
      unsafe gtk_widget_get_state_flags($0.assumingMemoryBound(to: GtkWidget.self)).rawValue
        & GTK_STATE_FLAG_ACTIVE.rawValue != 0
    }
    return "entry=\(isInEntry) text=\(text) selection=\(start)-\(end) clicks=\(clickCount)"
      + (isPressed == true ? " pressed=true" : "")
      + " asked=\(isAsked) active=\(unsafe gtk_window_is_active(window) != 0)"
  }

  // MARK: - Frames

  /// The phases of the frame that is being drawn.
  private var phases: [String] = []

  private var clock: OpaquePointer? { unsafe gtk_widget_get_frame_clock(widget) }

  private func onFrame(_ signal: String = "after-paint", _ handle: @escaping () -> Void) {
    let handler = unsafe Unmanaged.passRetained(Handler(handle)).toOpaque()
    let callback: @convention(c) (gpointer?, gpointer?) -> Void = { _, data in
      if let data = unsafe data {
        unsafe Unmanaged<Handler>.fromOpaque(data).takeUnretainedValue().call()
      }
    }
    unsafe _ = g_signal_connect_data(
      clock.map { unsafe UnsafeMutableRawPointer($0) }, signal,
      unsafeBitCast(callback, to: GCallback.self), handler, nil, GConnectFlags(rawValue: 0))
  }

  /// Reports each frame, with what the whole display shows then.
  func record(_ isLocked: @escaping () -> Bool) {
    for phase in ["layout", "paint"] { onFrame(phase) { [self] in phases.append(phase) } }
    onFrame { [self] in
      // Before the display is asked, which may report that the focus was lost after this frame.
      let isActive = unsafe gtk_window_is_active(window) != 0
      unsafe gdk_display_sync(gdk_display_get_default())
      say(
        "frame \(color) active=\(isActive) locked=\(isLocked()) shown=\(Screenshot.description)"
          + " phases=\(phases.joined(separator: "+"))")
      phases = []
    }
  }

  /// Draws as many frames as possible, and measures the time between them.
  func animate() {
    lastFrame = g_get_monotonic_time()
    maximumGap = 0
    onFrame { [self] in
      let now = g_get_monotonic_time()
      maximumGap = max(maximumGap, (now - lastFrame) / 1000)
      lastFrame = now
      unsafe gtk_widget_queue_draw(widget)
    }
    unsafe gtk_widget_queue_draw(widget)
  }
}

private final class Handler {
  let call: () -> Void

  init(_ call: @escaping () -> Void) { self.call = call }
}
#endif
