/// Why gpg did not open a file of `pass`, and what that means for the other files.
struct GPGFailure {
  /// What the failure concerns.
  enum Concern: Equatable {
    case file
    /// Files that need one of these keys.
    case keys(Set<String>)
    case everything
  }

  /// What happened and what to do about it, in one sentence without its full stop.
  let reason: String
  let concern: Concern

  init(_ reason: String, _ concern: Concern) {
    (self.reason, self.concern) = (reason, concern)
  }

  /// Judges what gpg reported.
  init(_ status: GPGStatus, _ complaint: GPGComplaint) {
    if status.refusedOptions {
      self.init(
        "gpg does not take its options: \(complaint.last); correct PASSWORD_STORE_GPG_OPTS or "
          + "gpg.conf", .everything)
    } else if let failure = Self.ofKey(status, complaint) {
      self = failure
    } else if status.foundKey {
      self.init("it is damaged, so gpg does not open it: \(complaint.last)", .file)
    } else if status.lacksKeyring, status.usableKeys.isEmpty {
      self.init("gpg cannot read its keys: \(complaint.first)", .everything)
    } else if !status.recipients.isEmpty, status.usableKeys.isEmpty {
      let keys = Set(status.recipients)
      let names = keys.sorted().joined(separator: " or ")
      self.init(
        "it is encrypted for the key \(names), whose secret key gpg does not have", .keys(keys))
    } else if !status.keyErrors.isEmpty {
      self.init("it is damaged, or the key is not the right one: \(complaint.lastButOne)", .file)
    } else if status.recipients.isEmpty, status.takesPassphrase || status.startedPinentry {
      self.init(
        "it is encrypted with a passphrase of its own, which gpg did not get; open it with pass "
          + "show", .file)
    } else if status.recipients.isEmpty, status.hasNoData {
      self.init("it is not a file that gpg encrypted, or the beginning of one", .file)
    } else {
      self.init("gpg cannot open it: \(complaint.last)", .file)
    }
  }

  private static func ofKey(_ status: GPGStatus, _ complaint: GPGComplaint) -> GPGFailure? {
    let isHidden = status.recipients.contains { $0.allSatisfy { $0 == "0" } }
    let keys = isHidden ? Set(status.recipients) : status.usableKeys
    guard !keys.isEmpty, !status.foundKey else { return nil }
    let key = isHidden ? "a hidden key" : "the key \(keys.sorted().joined(separator: " or "))"
    // What gpg says of its last key; the line behind it says only that no key opened the file.
    let cause = complaint.lastButOne
    let remedy =
      "; give it once with pass show in a terminal, and import again: gpg-agent keeps it a while"
    if status.keyErrors.contains(where: \.lacksPinentry) {
      return GPGFailure(
        "gpg could not ask for the passphrase of \(key): \(cause); install pinentry-curses, or "
          + "correct pinentry-program in gpg-agent.conf and run gpgconf --kill gpg-agent",
        .keys(keys))
    }
    if status.keyErrors.contains(where: \.isCancellation) {
      return GPGFailure("the passphrase of \(key) was not given: \(cause)" + remedy, .keys(keys))
    }
    if status.keyErrors.contains(where: \.isWrongPassphrase) {
      return GPGFailure("the passphrase given for \(key) was wrong; import again", .keys(keys))
    }
    if status.keyErrors.contains(where: \.isFailedQuestion) || status.neededPassphrase {
      return GPGFailure(
        "gpg could not ask for the passphrase of \(key): \(cause)" + remedy, .keys(keys))
    }
    if status.keyErrors.contains(where: \.isFailedService) {
      return GPGFailure("gpg could not use the secret part of \(key): \(cause)", .keys(keys))
    }
    // gpg reports no error for hidden keys, and for no key if gpg.conf makes it quiet.
    guard status.startedPinentry, status.keyErrors.isEmpty else { return nil }
    return GPGFailure(
      "gpg asked for the passphrase of \(key), and did not get it or opened nothing with it"
        + remedy, .keys(keys))
  }
}

/// What gpg wrote for people, without the name of the program in front of each line.
struct GPGComplaint {
  private let lines: [String]

  init(_ text: String) {
    lines = text.split(separator: "\n").map { line in
      line.hasPrefix("gpg: ") ? String(line.dropFirst(5)) : String(line)
    }
  }

  var first: String { lines.first ?? "it gave no reason" }
  var last: String { lines.last ?? "it gave no reason" }
  /// Its last lines: why the agent did not start, and that it is not there.
  var end: String {
    lines.isEmpty ? last : lines.suffix(3).joined(separator: "; ")
  }
  var lastButOne: String { lines.dropLast().last ?? last }
}
