#if GTKScenes
import CSessionToolsGTK
import SessionAuthentication
import SessionToolsBase

/// The widget over the content of a window: nothing is taken from the content's own tree.
///
/// It is opaque and fills the window, with a title bar of its own, so that the window can still be
/// moved and closed.
final class Cover {
  /// What the cover shows.
  enum Content {
    /// The content may be seen, but not now.
    case veil
    case locked
    /// The person is being asked elsewhere.
    case waiting
    case question(OpenQuestion)
    case failure(AuthenticationError)

    /// The question.
    var question: OpenQuestion? {
      if case .question(let question) = self { question } else { nil }
    }
  }

  private let window: Widget
  private let widgets = WidgetSet(coverDescription)
  private let cover: Widget
  private let program = Widget.programName
  private let unlock: () -> Void
  private var content: Content?
  private var message: AuthenticationMessage?
  /// Whether the keyboard belongs to the cover.
  private var isModal = false
  /// The key that the cover received and that was not released since.
  private var heldKey: Key?
  /// The widget of the content that had the focus, which is retained.
  private var contentFocus: Widget?

  /// Puts a cover over a window, which is shown from the window's first frame.
  ///
  /// - Parameters:
  ///   - window: The window.
  ///   - unlock: Called when the person wants to be asked.
  init(over window: Widget, unlock: @escaping () -> Void) {
    self.window = window
    self.unlock = unlock
    cover = widgets["cover"]
    cover.put(over: window)
    cover.setStyle(opaqueStyle)
    widgets["program"].setLabel(program)
    widgets["unlock"].connect("clicked") { [weak self] in self?.confirm() }
    widgets["cancel"].connect("clicked") { [weak self] in self?.end(.failure(.cancelledByPerson)) }
    widgets["fallback"].connect("clicked") { [weak self] in
      self?.end(.failure(.personWantsAnotherWay))
    }
    for entry in entries { entry.connect("activate") { [weak self] in self?.confirm() } }
    widgets["secret"].forbidShowingText()
    window.connectKeys { [weak self] in
      self?.handle($0) ?? .ignored
    } release: { [weak self] in
      self?.heldKey = nil
    }
  }

  /// Removes the cover, what was typed into it, and all of the content that this object retains.
  func remove() {
    keep(focus: nil)
    for entry in entries { entry.wipeText() }
    cover.removeFromParent()
  }

  // MARK: - Frames

  /// Covers or uncovers the content.
  ///
  /// - Parameters:
  ///   - isShown: Whether the content is covered.
  ///   - isModal: Whether the keyboard belongs to the cover, too.
  func set(isShown: Bool, isModal: Bool) {
    cover.raise(in: window)
    let wasShown = cover.isShown
    if isShown != wasShown {
      cover.isShown = isShown
      // Also where nothing else has changed: no frame may pass without it.
      window.drawWithLayout()
    }
    // Also those that were opened meanwhile.
    if isShown { cover.closeOtherPopups(in: window) }
    widgets["bar"].isShown = window.hasOwnTitleBar
    // Each time, because the window may have received other widgets.
    if isShown || wasShown { cover.setAlone(isShown, in: window) }
    if isModal { takeFocus() } else if self.isModal { returnFocus() }
    self.isModal = isModal
  }

  /// Gives the cover its place, in a frame.
  func layOut() {
    if cover.isShown { cover.fill(window) }
  }

  // MARK: - What it shows

  /// Shows something else.
  func show(_ content: Content, _ message: AuthenticationMessage?) {
    let isNew = content.question !== self.content?.question
    let oldFirst = first
    (self.content, self.message) = (content, message)
    widgets["title"].setLabel(title)
    widgets["text"].setLabel(text)
    widgets["message"].setLabel(nil)
    widgets["problem"].setLabel(problem)
    let question = content.question?.question
    if case .hint(let hint) = message { widgets["message"].setLabel(hint) }
    widgets["question"].setLabel(question?.text)
    widgets["secret"].isShown = question?.isSecret == true
    widgets["plain"].isShown = question?.isSecret == false
    widgets["fallback"].setButton(question?.request.fallbackTitle)
    widgets["cancel"].setButton(question.map { $0.request.cancelTitle ?? "Cancel" })
    widgets["unlock"].setButton(buttonTitle)
    if isNew { for entry in entries { entry.wipeText() } }
    if isModal, first != oldFirst || !hasFocus { focusFirst() }
  }

  private var title: String {
    switch content {
    case nil, .veil: program
    case .locked, .waiting, .question, .failure: "\(program) is locked"
    }
  }

  private var text: String? {
    switch content {
    case .waiting: "Waiting for your answer in another window"
    case .question(let open): "\(program) wants to \(open.question.request.reason)"
    case nil, .veil, .locked, .failure: nil
    }
  }

  private var problem: String? {
    if case .problem(let problem) = message { return problem }
    switch content {
    case .question(let open) where open.question.failureCount > 0:
      return "That was not right. Try again."
    // The person knows that they refused.
    case .failure(let error) where error.code != .userCancel:
      return error.description.prefix(1).uppercased() + error.description.dropFirst()
    default: return nil
    }
  }

  private var buttonTitle: String? {
    switch content {
    case nil, .veil, .waiting: nil
    case .locked: "Unlock"
    case .question: "Continue"
    case .failure(let error): error.code == .userCancel ? "Unlock" : "Try Again"
    }
  }

  // MARK: - What the person does

  private var entries: [Widget] { [widgets["secret"], widgets["plain"]] }

  private var entry: Widget? {
    content?.question.map { widgets[$0.question.isSecret ? "secret" : "plain"] }
  }

  private func confirm() {
    guard let entry else { return unlock() }
    end(.success(entry.takeText()))
  }

  private func end(_ answer: OpenQuestion.Answer) { content?.question?.end(answer) }

  private func handle(_ key: Key) -> Key.Handling {
    // A key that answered is repeated while it is held: it must not act on what is uncovered then.
    guard isModal else { return key == heldKey ? .taken : .ignored }
    heldKey = key
    switch key {
    case .escape: end(.failure(.cancelledByPerson))
    case .tab, .backTab: cover.moveFocus(backward: key == .backTab, in: window)
    default:
      // No shortcut of the content may act unseen.
      if let focus = window.focus, cover.contains(focus) { return .passed(focus) }
    }
    return .taken
  }

  // MARK: - Focus

  /// Whether a widget of the cover has the focus that can be seen.
  ///
  /// GTK moves the focus away from a hidden one in the next frame, and selects all of the text that
  /// receives it.
  private var hasFocus: Bool {
    window.focus.map { cover.contains($0) && $0.isVisibleWithin } ?? false
  }

  /// Takes the focus from the content, also if it has received it again meanwhile.
  private func takeFocus() {
    if !isModal {
      keep(focus: window.focus)
      cover.cancelOtherGestures(in: window)
    }
    if !hasFocus { focusFirst() }
  }

  /// The widget to begin with; the picture, when there is nothing to do.
  private var first: Widget { entry ?? widgets[buttonTitle != nil ? "unlock" : "picture"] }

  private func focusFirst() {
    widgets["picture"].isFocusable = first == widgets["picture"]
    first.grabFocus()
  }

  private func returnFocus() {
    window.returnFocus(to: contentFocus.flatMap { window.contains($0) ? $0 : nil })
    keep(focus: nil)
  }

  private func keep(focus: Widget?) {
    focus?.retain()
    contentFocus?.release()
    contentFocus = focus
  }
}

/// A key of the keyboard.
struct Key: Equatable {
  /// What happens with a key.
  enum Handling {
    /// The window handles it, as always.
    case ignored
    case taken
    /// Only this widget receives it.
    case passed(Widget)
  }

  let value: UInt32

  static let escape = Key(value: UInt32(GDK_KEY_Escape))
  static let tab = Key(value: UInt32(GDK_KEY_Tab))
  static let backTab = Key(value: UInt32(GDK_KEY_ISO_Left_Tab))
}

/// What makes the cover opaque, and as large as its window, in every theme: some make the
/// background of windows translucent.
private let opaqueStyle = """
  * {
    background-color: black;
    background-image: image(@theme_bg_color);
    background-size: auto;
    background-repeat: repeat;
    background-clip: border-box;
    background-blend-mode: normal;
    border-radius: 0;
    margin: 0;
    opacity: 1;
    transform: none;
    filter: none;
    animation: none;
    transition: none;
  }
  """

/// The cover as GTK's builder reads it.
private let coverDescription = """
  <interface>
    <object class="GtkBox" id="cover">
      <property name="orientation">vertical</property>
      <property name="accessible-role">dialog</property>
      <accessibility><relation name="labelled-by">title</relation></accessibility>
      <style><class name="background"/></style>
      <child>
        <object class="GtkHeaderBar" id="bar">
          <property name="title-widget">
            <object class="GtkLabel" id="program"><style><class name="title"/></style></object>
          </property>
          <style><class name="titlebar"/></style>
        </object>
      </child>
      <child>
        <object class="GtkScrolledWindow">
          <property name="hscrollbar-policy">never</property>
          <property name="focusable">0</property>
          <property name="vexpand">1</property>
          <property name="child">
            <object class="GtkBox">
              <property name="orientation">vertical</property>
              <property name="spacing">12</property>
              <property name="halign">center</property>
              <property name="valign">center</property>
              <property name="margin-top">24</property>
              <property name="margin-bottom">24</property>
              <property name="margin-start">24</property>
              <property name="margin-end">24</property>
              <child>
                <object class="GtkImage" id="picture">
                  <property name="icon-name">system-lock-screen-symbolic</property>
                  <property name="pixel-size">64</property>
                  <property name="accessible-role">presentation</property>
                  <style><class name="dim-label"/></style>
                </object>
              </child>
              <child>
                <object class="GtkLabel" id="title">
                  <property name="wrap">1</property>
                  <property name="justify">center</property>
                  <style><class name="title-2"/></style>
                </object>
              </child>
              <child>
                <object class="GtkLabel" id="text">
                  <property name="wrap">1</property>
                  <property name="justify">center</property>
                </object>
              </child>
              <child>
                <object class="GtkLabel" id="question">
                  <property name="wrap">1</property>
                  <property name="xalign">0</property>
                  <property name="margin-top">12</property>
                </object>
              </child>
              <child>
                <object class="GtkPasswordEntry" id="secret">
                  <property name="width-chars">28</property>
                  <accessibility><relation name="labelled-by">question</relation></accessibility>
                </object>
              </child>
              <child>
                <object class="GtkEntry" id="plain">
                  <property name="width-chars">28</property>
                  <accessibility><relation name="labelled-by">question</relation></accessibility>
                </object>
              </child>
              <child>
                <object class="GtkLabel" id="message">
                  <property name="wrap">1</property>
                  <property name="justify">center</property>
                </object>
              </child>
              <child>
                <object class="GtkLabel" id="problem">
                  <property name="wrap">1</property>
                  <property name="justify">center</property>
                  <property name="max-width-chars">50</property>
                  <property name="accessible-role">alert</property>
                  <style><class name="error"/></style>
                </object>
              </child>
              <child>
                <object class="GtkBox">
                  <property name="spacing">12</property>
                  <property name="halign">center</property>
                  <property name="margin-top">12</property>
                  <child><object class="GtkButton" id="cancel"/></child>
                  <child><object class="GtkButton" id="fallback"/></child>
                  <child>
                    <object class="GtkButton" id="unlock">
                      <style><class name="suggested-action"/></style>
                    </object>
                  </child>
                </object>
              </child>
            </object>
          </property>
        </object>
      </child>
    </object>
  </interface>
  """
#endif
