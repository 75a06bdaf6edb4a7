import SessionToolsBase

/// The question for a passphrase.
struct PassphrasePrompt {
  /// The store, as the question names it.
  let path: String
  let interaction: InteractionOptions
  /// What the names of the options for the passphrase begin with.
  var optionStart = "--"

  /// Asks once.
  ///
  /// - Throws: `promptDismissed`, or `keyMissing` if no person can be asked.
  func ask() throws -> SecretBytes {
    try ask("Passphrase for \(path): ")
  }

  /// Asks twice, so that a typing error does not lock the person out.
  ///
  /// - Throws: As ``ask()``, and a usage failure if the two differ or no person can be asked.
  func askForNew() throws -> SecretBytes {
    guard interaction.canAsk else {
      throw Failure(
        .usage,
        "there is no terminal to ask for a new passphrase; name a file with a key or passphrase")
    }
    let first = try ask("New passphrase for \(path): ")
    guard try ask("Repeat the passphrase: ") == first else {
      throw Failure(.usage, "the two passphrases differ; nothing was changed")
    }
    return first
  }

  /// Asks for the PIN of a security key.
  ///
  /// - Throws: As ``ask()``.
  func askForPIN(_ question: String) throws -> SecretBytes {
    guard interaction.canAsk else {
      throw StoreError(
        .keyMissing, store: path, reason: "there is no terminal to ask for the security key's PIN",
        remedy: "Run this on a terminal, or give the key of another slot")
    }
    return try Question.ask(question, about: path, isHidden: true)
  }

  private func ask(_ question: String) throws -> SecretBytes {
    guard interaction.canAsk else {
      throw StoreError(
        .keyMissing, store: path, reason: "there is no terminal to ask for a passphrase",
        remedy: "Give it with \(optionStart)passphrase-file or \(optionStart)passphrase-fd")
    }
    return try Question.ask(question, about: path, isHidden: true)
  }
}

/// Questions on the terminal.
enum Question {
  /// Asks for a line.
  ///
  /// - Throws: `promptDismissed` if the person ends the input, a usage failure if the line is
  ///   longer than a terminal takes, or `io`.
  static func ask(_ question: String, about store: String, isHidden: Bool) throws
    -> SecretBytes
  {
    let answer: SecretBytes?
    do throws(SystemCallError) {
      answer = try System.askAtTerminal(question.escapingControls(), isHidden: isHidden)
    } catch {
      throw StoreError(error, path: "/dev/tty")
    }
    guard let answer else {
      throw StoreError(
        .promptDismissed, store: store, reason: "the question was dismissed")
    }
    guard answer.byteCount <= System.maximumTerminalLine else {
      throw Failure(
        .usage,
        "a terminal takes lines of at most \(System.maximumTerminalLine) bytes; "
          + "nothing was changed")
    }
    return answer
  }

  /// Asks for confirmation; any answer but yes means no.
  ///
  /// - Throws: As ``ask(_:about:isHidden:)``.
  static func confirm(_ question: String, about store: String) throws -> Bool {
    let answer = try ask("\(question) [y/N] ", about: store, isHidden: false)
    return ["y", "yes"].contains(String(decoding: answer.copyBytes(), as: UTF8.self).lowercased())
  }
}
