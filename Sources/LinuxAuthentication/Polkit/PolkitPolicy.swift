/// The file that declares an action to polkit, which the program's package installs.
public struct PolkitPolicy: Hashable, Sendable {
  /// The identifier of the action.
  public let action: String
  /// What the system's dialog says.
  public let message: String

  /// Declares an action.
  ///
  /// - Parameters:
  ///   - action: Its identifier, such as `com.example.mail.unlock`: letters, digits, hyphens and
  ///     periods.
  ///   - message: What the system's dialog says, a whole sentence. It cannot be chosen for each
  ///     question.
  public init(action: String, message: String) {
    self.action = action
    self.message = message
  }

  /// Where polkit looks for it.
  public var path: String { "/usr/share/polkit-1/actions/\(action).policy" }

  /// The content of the file, in XML: the person is asked for their own password, or whatever else
  /// the administrator lets count for it, each time and wherever they sit.
  public var content: String {
    """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE policyconfig PUBLIC "-//freedesktop//DTD PolicyKit Policy Configuration 1.0//EN"
      "http://www.freedesktop.org/standards/PolicyKit/1.0/policyconfig.dtd">
    <policyconfig>
      <action id="\(identifier)">
        <description>\(characterData)</description>
        <message>\(characterData)</message>
        <defaults>
          <allow_any>auth_self</allow_any>
          <allow_inactive>auth_self</allow_inactive>
          <allow_active>auth_self</allow_active>
        </defaults>
      </action>
    </policyconfig>

    """
  }

  /// The message in one piece: polkitd 122 keeps of a text what comes after its last entity or
  /// newline only.
  private var characterData: String {
    let line = message.split(whereSeparator: \.isNewline).joined(separator: " ")
    guard line.contains(where: { "&<".contains($0) }) else { return line }
    return "<![CDATA[\(line.replacing("]]>", with: "]] >"))]]>"
  }

  private var identifier: String {
    action.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      .replacing("\"", with: "&quot;")
  }
}
