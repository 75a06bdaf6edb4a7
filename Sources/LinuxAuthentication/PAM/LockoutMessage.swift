/// The messages of `pam_faillock` while it keeps an account locked.
///
/// Only its text reveals the lockout: its return code is the one for a wrong password. The text is
/// in the program's language, so it is compared with the module's own text for each number in it.
struct LockoutMessage {
  /// Whether the account is locked.
  private(set) var isLocked = false
  /// How long it stays locked, if the module said so.
  private(set) var remaining: Duration?

  /// Reads one message of a module.
  mutating func read(_ text: String) {
    for number in Self.numbers(in: text) {
      if text == Self.failures(number, "%u") { isLocked = true }
      if text == Self.minutes(number, "%d") { remaining = .seconds(60) * number }
    }
    // For a version with slightly different wording, in English.
    if text.lowercased().contains("account is locked") { isLocked = true }
  }

  private static func failures(_ count: Int, _ placeholder: String) -> String {
    // The text has only this form, even for one failure.
    pamText("The account is locked due to %u failed logins.")
      .replacing(placeholder, with: String(count))
  }

  private static func minutes(_ count: Int, _ placeholder: String) -> String {
    pamText("(%d minute left to unlock)", "(%d minutes left to unlock)", count: UInt(count))
      .replacing(placeholder, with: String(count))
  }

  /// Returns the numbers in a text that could count failures or minutes.
  private static func numbers(in text: String) -> [Int] {
    text.split { !("0"..."9").contains($0) }.compactMap { Int($0) }.filter { $0 < 1_000_000_000 }
  }
}
