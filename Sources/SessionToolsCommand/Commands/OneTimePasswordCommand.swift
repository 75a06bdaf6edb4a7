import ArgumentParser
import Foundation
import SessionToolsBase

/// `session-tools otp`.
struct OneTimePasswordCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "otp",
    abstract: "Write the one-time password of an item.",
    usage: "session-tools otp [<store>] <identifier> [--service <name>] [<options>]",
    discussion: """
      The value of the item is the address that a QR code for an authenticator has \
      (otpauth://totp/...), also in one line of several, as pass otp stores it, or the key in \
      Base32. Passwords change with time (RFC 6238): the clock must be right. A second factor \
      that is kept beside the password protects against who learns the password alone, and not \
      against who reads the store.

      Example:
        session-tools set ~/vault --service mail otp < otpauth.txt
        session-tools otp ~/vault --service mail otp
      """)

  @OptionGroup(title: "Item") var item: ItemOptions
  @OptionGroup var access: AccessOptions

  func run() throws {
    try SharedLibrary.gcrypt.check()
    let (name, location) = try item.resolved()
    let open = try access.openItems(at: location)
    guard let value = try open.value(for: name, as: "otp") else {
      throw Failure.noItem(name, in: location)
    }
    let setting: OneTimePassword
    do throws(OneTimePassword.Mistake) {
      setting = try OneTimePassword(value)
    } catch {
      throw StoreError(
        .undecodable, store: "\(location)",
        reason: "\(name) makes no one-time passwords: \(error.text)")
    }
    try StandardOutput.write(setting.password(at: .now) + "\n")
  }
}
