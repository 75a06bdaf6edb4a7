extension PolkitAuthenticator {
  /// The file that declares an action to polkit; the program's package installs it.
  public struct Policy: Hashable, Sendable {
    /// The identifier of the action.
    public let action: String
    /// The text of the system's dialog.
    public let message: String

    /// Declares an action.
    ///
    /// - Parameters:
    ///   - action: Its identifier, such as `com.example.mail.unlock`: letters, digits, hyphens and
    ///     periods.
    ///   - message: The text of the system's dialog, a whole sentence. It is the same for all
    ///     questions.
    public init(action: String, message: String) {
      self.action = action
      self.message = message
    }

    /// The path where polkit looks for the file.
    public var path: String { "/usr/share/polkit-1/actions/\(action).policy" }

    /// The content of the file, in XML.
    ///
    /// The person is asked each time, wherever they sit, for their own password, or for whatever
    /// else the administrator accepts instead.
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

    /// The message in one piece: polkitd 122 keeps only the part of a text after its last entity or
    /// newline.
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
}
