import Foundation

/// The messages by which modules that ask no question wait for a person: for a finger
/// (`pam_fprintd`) or for a touch of a security key (`pam_u2f`).
///
/// Any other message proves nothing: a module that only sends text involves no one.
enum PAMCue {
  private static let fingers =
    ["finger"]
    + ["left", "right"].flatMap { side in
      ["thumb", "index finger", "middle finger", "ring finger", "little finger"].map {
        "\(side) \($0)"
      }
    }

  /// The texts of fprintd 1.94, in `data/fingerprint-strings.h`, with `%s` for a reader's name.
  private static let fingerprintTexts =
    fingers.flatMap { finger in
      ["the fingerprint reader", "%s"].flatMap { reader in
        ["Place your \(finger) on \(reader)", "Swipe your \(finger) across \(reader)"]
      }
    } + [
      "Place your finger on the reader again", "Swipe your finger again",
      "Swipe was too short, try again",
      "Your finger was not centered, try swiping your finger again",
      "Remove your finger, and try swiping your finger again",
    ]

  /// The cues of pam_u2f 1.1 and 1.3, which are not translated.
  private static let touchTexts = [
    "Please touch the device.", "Please touch the FIDO authenticator.",
  ]

  /// Returns whether a message is one of them, in the program's language or in English.
  static func isShown(by message: String) -> Bool {
    if touchTexts.contains(message) { return true }
    return fingerprintTexts.contains { text in
      [text, pamText(text, of: "fprintd")].contains { template in
        let parts = template.components(separatedBy: "%s")
        guard parts.count == 2 else { return message == template }
        return message.hasPrefix(parts[0]) && message.hasSuffix(parts[1])
          && message.count > parts[0].count + parts[1].count
      }
    }
  }
}
