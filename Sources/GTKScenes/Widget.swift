#if GTKScenes
import CSessionToolsGTK
import SessionToolsBase

/// A widget of GTK: all calls of GTK but those of the signals and the thread are here.
///
/// It does not retain the widget. It is used on GTK's thread only, by objects that end with the
/// widget.
@safe struct Widget: Hashable {
  private let pointer: UnsafeMutablePointer<GtkWidget>

  private init(_ pointer: UnsafeMutablePointer<GtkWidget>) {
    unsafe self.pointer = pointer
  }

  private init?(_ pointer: UnsafeMutablePointer<GtkWidget>?) {
    guard let pointer = unsafe pointer else { return nil }
    unsafe self.init(pointer)
  }

  /// Takes the pointer of a window.
  init(window: OpaquePointer) throws(GTKSceneError) {
    guard gtk_is_initialized() != 0, unsafe gdk_display_get_default() != nil else {
      throw .noDisplay
    }
    guard unsafe session_tools_is_window(UnsafeMutableRawPointer(window)) != 0 else {
      throw .notAWindow
    }
    unsafe self.init(UnsafeMutablePointer<GtkWidget>(window))
  }

  static func == (left: Widget, right: Widget) -> Bool { unsafe left.pointer == right.pointer }

  func hash(into hasher: inout Hasher) { unsafe hasher.combine(pointer) }

  private var object: UnsafeMutableRawPointer { unsafe UnsafeMutableRawPointer(pointer) }
  private var opaque: OpaquePointer { unsafe OpaquePointer(pointer) }
  private var window: UnsafeMutablePointer<GtkWindow> {
    unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: GtkWindow.self)
  }

  func retain() { unsafe _ = g_object_ref(object) }
  func release() { unsafe g_object_unref(object) }

  // MARK: - Signals

  /// Connects a closure to a signal that has no result, for as long as the widget exists.
  func connect(_ signal: String, _ handle: @escaping () -> Void) {
    unsafe _ = Signal.connect(object, signal) { _ in
      handle()
      return false
    }
  }

  /// Connects a closure to the frames of the window, until the object that is returned ends.
  ///
  /// - Parameters:
  ///   - before: Called before a frame begins.
  ///   - layout: Called when the frame's other widgets have their place.
  /// - Returns: The object, or `nil` when the window has no surface.
  func connectFrames(before: @escaping () -> Void, layout: @escaping () -> Void) -> FrameSignals? {
    unsafe gtk_widget_get_frame_clock(pointer).map {
      unsafe FrameSignals($0, before: before, layout: layout)
    }
  }

  /// Connects a closure to all keys that are pressed in a window, before anything else, also if
  /// that is added to the window later.
  ///
  /// - Parameters:
  ///   - handle: Returns what to do with the key.
  ///   - release: Called when a key is released.
  func connectKeys(
    _ handle: @escaping (Key) -> Key.Handling, release: @escaping () -> Void
  ) {
    let controller = unsafe gtk_event_controller_key_new()
    unsafe gtk_event_controller_set_propagation_phase(controller, GTK_PHASE_CAPTURE)
    unsafe Signal.connect(UnsafeMutableRawPointer(controller), "key-pressed") { values in
      switch handle(Key(value: unsafe g_value_get_uint(values + 1))) {
      case .ignored: return false
      case .taken: return true
      case .passed(let widget):
        unsafe _ = gtk_event_controller_key_forward(controller, widget.pointer)
        return true
      }
    }
    unsafe _ = Signal.connect(UnsafeMutableRawPointer(controller), "key-released") { _ in
      release()
      return false
    }
    unsafe gtk_widget_add_controller(pointer, controller)
    let controllers = unsafe gtk_widget_observe_controllers(pointer)
    unsafe g_object_set_data_full(
      object.assumingMemoryBound(to: GObject.self), "session-tools-controllers",
      UnsafeMutableRawPointer(controllers), g_object_unref)
    var isMoving = false
    unsafe _ = Signal.connect(UnsafeMutableRawPointer(controllers), "items-changed") { _ in
      // GTK calls the newest controller first.
      let first = unsafe g_list_model_get_item(controllers, 0)
      defer { if let first = unsafe first { unsafe g_object_unref(first) } }
      guard !isMoving, unsafe first != UnsafeMutableRawPointer(controller),
        let window = unsafe gtk_event_controller_get_widget(controller)
      else { return false }
      isMoving = true
      unsafe _ = g_object_ref(UnsafeMutableRawPointer(controller))
      unsafe gtk_widget_remove_controller(window, controller)
      unsafe gtk_widget_add_controller(window, controller)
      isMoving = false
      return false
    }
  }

  // MARK: - Windows

  /// The name of the program, as people know it.
  static var programName: String {
    unsafe g_get_application_name().map { unsafe String(cString: $0) } ?? "The program"
  }

  /// All windows of the program.
  static var toplevels: Set<Widget> {
    guard let list = unsafe gtk_window_list_toplevels() else { return [] }
    defer { unsafe g_list_free(list) }
    var windows: Set<Widget> = []
    var next: UnsafeMutablePointer<GList>? = unsafe list
    while let link = unsafe next {
      if let data = unsafe link.pointee.data {
        windows.insert(unsafe Widget(data.assumingMemoryBound(to: GtkWidget.self)))
      }
      unsafe next = link.pointee.next
    }
    return windows
  }

  /// Calls a closure whenever a window is made or destroyed.
  static func onChangeOfToplevels(_ handle: @escaping () -> Void) {
    let list = unsafe gtk_window_get_toplevels()
    unsafe _ = Signal.connect(UnsafeMutableRawPointer(list), "items-changed") { _ in
      handle()
      return false
    }
  }

  /// Calls a closure whenever the window receives or loses a child, until the window ends.
  func onChangeOfChildren(_ handle: @escaping () -> Void) {
    let children = unsafe UnsafeMutableRawPointer(gtk_widget_observe_children(pointer))
    unsafe g_object_set_data_full(
      object.assumingMemoryBound(to: GObject.self), "session-tools-children", children,
      g_object_unref)
    unsafe _ = Signal.connect(children, "items-changed") { _ in
      handle()
      return false
    }
  }

  /// Whether the window has the focus.
  var isFocused: Bool {
    let display = unsafe gtk_widget_get_display(pointer)
    let seat = unsafe gdk_display_get_default_seat(display)
    let hasKeyboard =
      unsafe seat.map {
        unsafe gdk_seat_get_capabilities($0).rawValue & GDK_SEAT_CAPABILITY_KEYBOARD.rawValue != 0
      } ?? false
    // GTK derives it from the keyboard's focus, which does not exist on a tablet.
    return hasKeyboard
      ? unsafe gtk_window_is_active(window) != 0 : hasState(GDK_TOPLEVEL_STATE_FOCUSED)
  }

  /// Whether the window could be seen, as far as GTK knows.
  var isVisible: Bool {
    unsafe gtk_widget_get_mapped(pointer) != 0 && !hasState(GDK_TOPLEVEL_STATE_MINIMIZED)
      // Since GTK 4.12: a window that is wholly covered, or on another workspace.
      && !hasState(GdkToplevelState(rawValue: 1 << 16))
  }

  private func hasState(_ state: GdkToplevelState) -> Bool {
    guard let surface = unsafe gtk_native_get_surface(opaque) else { return false }
    return unsafe gdk_toplevel_get_state(surface).rawValue & state.rawValue != 0
  }

  /// Whether the window has a surface.
  var isRealized: Bool { unsafe gtk_widget_get_realized(pointer) != 0 }

  /// Connects a closure to changes of the state of the window's surface, which must exist.
  func connectState(_ handle: @escaping () -> Void) {
    guard let surface = unsafe gtk_native_get_surface(opaque) else { return }
    unsafe _ = Signal.connect(UnsafeMutableRawPointer(surface), "notify::state") { _ in
      handle()
      return false
    }
  }

  /// Whether GTK draws the window's title bar.
  var hasOwnTitleBar: Bool {
    unsafe gtk_widget_has_css_class(pointer, "csd") != 0
      || gtk_widget_has_css_class(pointer, "solid-csd") != 0
  }

  /// The widget of the window that has the focus.
  var focus: Widget? { unsafe Widget(gtk_window_get_focus(window)) }

  /// Gives the focus back to a widget of the window, whose selection stays as it is.
  func returnFocus(to widget: Widget?) {
    unsafe session_tools_return_focus(window, widget?.pointer)
  }

  /// Draws the window's next frame soon.
  func draw() { unsafe gtk_widget_queue_draw(pointer) }

  /// Draws the window's next frame soon, in which all widgets get their place first.
  ///
  /// GTK does not draw a widget that has none.
  func drawWithLayout() {
    draw()
    unsafe gtk_widget_get_frame_clock(pointer).map {
      unsafe gdk_frame_clock_request_phase($0, GDK_FRAME_CLOCK_PHASE_LAYOUT)
    }
  }

  private static let markName = "session-tools-gated-window"

  /// Whether the window was marked.
  var hasMark: Bool {
    unsafe g_object_get_data(object.assumingMemoryBound(to: GObject.self), Self.markName) != nil
  }

  /// Marks the window for as long as it exists.
  func mark() {
    unsafe g_object_set_data(object.assumingMemoryBound(to: GObject.self), Self.markName, object)
  }

  // MARK: - Other widgets

  /// Whether a widget is this one or in it.
  func contains(_ widget: Widget) -> Bool {
    unsafe self == widget || gtk_widget_is_ancestor(widget.pointer, pointer) != 0
  }

  var isShown: Bool {
    get { unsafe gtk_widget_get_visible(pointer) != 0 }
    nonmutating set { unsafe gtk_widget_set_visible(pointer, newValue ? 1 : 0) }
  }

  /// Whether this widget and all that it is in are shown.
  var isVisibleWithin: Bool { unsafe gtk_widget_is_visible(pointer) != 0 }

  var isFocusable: Bool {
    get { unsafe gtk_widget_get_focusable(pointer) != 0 }
    nonmutating set { unsafe gtk_widget_set_focusable(pointer, newValue ? 1 : 0) }
  }

  /// Puts this widget over all others of a window, without being one of its content.
  func put(over window: Widget) {
    unsafe gtk_widget_set_parent(pointer, window.pointer)
  }

  /// Gives this widget the focus.
  func grabFocus() { unsafe _ = gtk_widget_grab_focus(pointer) }

  func removeFromParent() { unsafe gtk_widget_unparent(pointer) }

  /// Gives this widget a style that precedes all others, those of the person's theme included.
  func setStyle(_ style: String) { unsafe session_tools_set_style(pointer, style) }

  /// Puts this widget over those that its window received later.
  func raise(in window: Widget) {
    if unsafe gtk_widget_get_last_child(window.pointer) != pointer {
      unsafe gtk_widget_insert_before(pointer, window.pointer, nil)
    }
  }

  /// Gives this widget the whole area of its window, and not less than it needs.
  func fill(_ window: Widget) {
    var (width, height): (Int32, Int32) = (0, 0)
    unsafe gtk_widget_measure(pointer, GTK_ORIENTATION_HORIZONTAL, -1, &width, nil, nil, nil)
    width = max(width, unsafe gtk_widget_get_width(window.pointer))
    unsafe gtk_widget_measure(pointer, GTK_ORIENTATION_VERTICAL, width, &height, nil, nil, nil)
    height = max(height, unsafe gtk_widget_get_height(window.pointer))
    unsafe gtk_widget_allocate(pointer, width, height, -1, nil)
  }

  /// Closes all surfaces of the window but those of this widget, such as menus and tooltips: they
  /// would be above it.
  func closeOtherPopups(in window: Widget) {
    unsafe session_tools_close_popups(window.pointer, pointer)
  }

  /// Ends what a pointer has begun in the other children of the window: a button that is pressed
  /// already would act when it is released, although it is not seen any more.
  func cancelOtherGestures(in window: Widget) {
    var next = unsafe gtk_widget_get_first_child(window.pointer)
    while let child = unsafe next {
      if unsafe child != pointer { unsafe session_tools_cancel_gestures(child) }
      unsafe next = gtk_widget_get_next_sibling(child)
    }
  }

  /// Hides the other children of the window from screen readers, or shows them again.
  func setAlone(_ isAlone: Bool, in window: Widget) {
    var next = unsafe gtk_widget_get_first_child(window.pointer)
    while let child = unsafe next {
      if unsafe child != pointer {
        unsafe session_tools_set_hidden_from_accessibility(OpaquePointer(child), isAlone ? 1 : 0)
      }
      unsafe next = gtk_widget_get_next_sibling(child)
    }
  }

  /// Moves the focus within this widget of a window, from its last widget to its first.
  func moveFocus(backward: Bool = false, in window: Widget) {
    let direction = backward ? GTK_DIR_TAB_BACKWARD : GTK_DIR_TAB_FORWARD
    if unsafe gtk_widget_child_focus(pointer, direction) != 0 { return }
    window.returnFocus(to: nil)
    unsafe _ = gtk_widget_child_focus(pointer, direction)
  }

  /// Sets the text of a label, which is hidden without one.
  func setLabel(_ text: String?) {
    unsafe gtk_label_set_text(opaque, text ?? "")
    isShown = text != nil
  }

  /// Sets the title of a button, which is hidden without one.
  func setButton(_ title: String?) {
    let button = unsafe UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: GtkButton.self)
    unsafe gtk_button_set_label(button, title ?? "")
    isShown = title != nil
  }

  /// Moves the text out of an entry.
  func takeText() -> SecretBytes {
    let text = unsafe gtk_editable_get_text(opaque)
    let bytes = unsafe UnsafeRawBufferPointer(
      start: text, count: text.map { unsafe strlen($0) } ?? 0)
    defer { wipeText() }
    return unsafe SecretBytes(bytes)
  }

  /// Removes the text from an entry, and from memory.
  ///
  /// GTK 4.8 leaves deleted text in the buffer, and reports it to screen readers in a copy that is
  /// not wiped. So the buffer is exchanged: a buffer for passwords, in memory that is never swapped
  /// out, is overwritten as a whole when it is released.
  func wipeText() {
    let buffer = unsafe gtk_password_entry_buffer_new()
    let text = unsafe UnsafeMutablePointer<GtkText>(gtk_editable_get_delegate(opaque))
    unsafe gtk_text_set_buffer(text, buffer)
    unsafe g_object_unref(buffer)
  }

  /// Takes "Show Text" out of the menu of an entry: text that is drawn is copied to memory that is
  /// not wiped, and the desktop may keep pictures of the cover.
  func forbidShowingText() {
    let text = unsafe UnsafeMutablePointer<GtkWidget>(gtk_editable_get_delegate(opaque))
    unsafe gtk_widget_action_set_enabled(text, "misc.toggle-visibility", 0)
  }
}

/// Widgets that a description in GTK's XML makes.
@safe final class WidgetSet {
  private let builder: OpaquePointer

  init(_ description: String) {
    unsafe builder = unsafe gtk_builder_new_from_string(description, -1)
  }

  deinit {
    // The program may release the last reference on any thread.
    nonisolated(unsafe) let builder = unsafe UnsafeMutableRawPointer(builder)
    GTKThread.perform { unsafe g_object_unref(builder) }
  }

  /// Returns a widget, which lives as long as this set or its parent.
  subscript(name: String) -> Widget {
    guard let object = unsafe gtk_builder_get_object(builder, name) else {
      preconditionFailure("the description has no \(name)")
    }
    return unsafe Widget(object: object)
  }
}

extension Widget {
  fileprivate init(object: UnsafeMutablePointer<GObject>) {
    unsafe self.init(
      UnsafeMutableRawPointer(object).assumingMemoryBound(to: GtkWidget.self))
  }
}
#endif
