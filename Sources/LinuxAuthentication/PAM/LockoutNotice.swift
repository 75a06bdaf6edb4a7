/// What `pam_faillock` says while it keeps an account locked.
///
/// Only its text tells: it answers as if the password were wrong. The text is in the program's
/// language, so it is compared with what the module would say, number by number.
struct LockoutNotice {
  /// Whether the account is locked.
  private(set) var isLocked = false
  /// How long it stays so, if that was said.
  private(set) var remaining: Duration?

  /// Reads one text of a module.
  mutating func read(_ text: String) {
    for number in Self.numbers(in: text) {
      if text == Self.failures(number, "%u") { isLocked = true }
      if text == Self.minutes(number, "%d") { remaining = .seconds(60) * number }
    }
    // A version that words it a little differently, in its own language.
    if text.lowercased().contains("account is locked") { isLocked = true }
  }

  private static func failures(_ count: Int, _ placeholder: String) -> String {
    // Its only form, also for one.
    pamText("The account is locked due to %u failed logins.")
      .replacing(placeholder, with: String(count))
  }

  private static func minutes(_ count: Int, _ placeholder: String) -> String {
    pamText("(%d minute left to unlock)", "(%d minutes left to unlock)", count: UInt(count))
      .replacing(placeholder, with: String(count))
  }

  /// The numbers in a text that could be of failures or minutes.
  private static func numbers(in text: String) -> [Int] {
    text.split { !("0"..."9").contains($0) }.compactMap { Int($0) }.filter { $0 < 1_000_000_000 }
  }
}
