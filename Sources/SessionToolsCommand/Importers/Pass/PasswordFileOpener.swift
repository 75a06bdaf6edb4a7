import SealedStore
import SecretStores
import Synchronization

/// What opens the files of `pass`, one after the other, and remembers which keys are of no use.
///
/// Hundreds of files have the same key. When a person has dismissed the question for its
/// passphrase, or there is no way to ask it, the question is not repeated for each.
final class PasswordFileOpener: Sendable {
  private struct State {
    /// Why all files fail, whatever their keys are.
    var obstacle: String?
    /// The keys that were of no use, and why.
    var closedKeys: [String: String] = [:]
    /// Whether gpg itself asks on the terminal, for its agent.
    var needsForeground = false
    /// The secret keys that gpg has; `nil` if it was not asked yet.
    var secretKeys: Set<String>?
  }

  /// No store takes a larger value; a file of some kilobytes may expand to a thousand times that.
  private static let maximumValueByteCount = SealedFileStore.maximumValueByteCount
  private static let maximumListByteCount = 1 << 24

  private let gpg: GPG
  private let state: Mutex<State>

  init() {
    gpg = GPG()
    // gpg.conf may want that too; then gpg is found out to wait for the terminal, and run again.
    state = Mutex(State(needsForeground: gpg.asksItself))
  }

  /// Returns the content of a file.
  ///
  /// - Throws: As ``PasswordStore/items(at:)`` says of reading.
  func value(of file: String) throws(StoreError) -> SecretBytes {
    try checkKeys(of: file)
    let outcome = try run(["--decrypt", "--", file], Self.maximumValueByteCount, file)
    switch outcome.ending {
    // A file that was cut off before its content has the status 0, too.
    case .ended(status: 0, let value, _) where outcome.status.isComplete: return value
    case .ended(status: 130, _, _) where state.withLock({ $0.needsForeground }):
      throw StoreError(.cancelled, store: file, reason: "gpg was ended by Ctrl-C")
    case .ended(_, _, let complaint):
      let failure = try failure(of: file, outcome.status, GPGComplaint(complaint))
      state.withLock { state in
        switch failure.concern {
        case .file: break
        case .keys(let keys):
          for key in keys { state.closedKeys[key] = failure.reason }
        case .everything: state.obstacle = failure.reason
        }
      }
      throw Self.error(file, failure.reason)
    case .wroteTooMuch:
      throw StoreError(
        .valueTooLarge, store: file,
        reason: "its value has more than \(Self.maximumValueByteCount) bytes, which no store takes",
        remedy: "Keep it where it is")
    case .tookTooLong, .wantedTerminal:
      let waited = outcome.status.startedPinentry || outcome.status.neededPassphrase
      throw StoreError(
        .timedOut, store: file,
        reason: "gpg did not open it within \(GPG.timeout.components.seconds) seconds"
          + (waited ? ", in which it asked for a passphrase" : ""),
        remedy: "Make sure that pass show opens it, and try again")
    }
  }

  /// Makes sure that a file may open, without asking for any passphrase.
  private func checkKeys(of file: String) throws(StoreError) {
    let (obstacle, closedKeys) = state.withLock { ($0.obstacle, $0.closedKeys) }
    if let obstacle { throw Self.error(file, "not tried: \(obstacle)") }
    guard !closedKeys.isEmpty else { return }
    var status = try run(["--list-only", "--decrypt", "--", file], 0, file).status
    if let secretKeys = state.withLock({ $0.secretKeys }) { status.correct(by: secretKeys) }
    // Of keys that gpg does not have, none can be of use.
    let keys = status.usableKeys.isEmpty ? Set(status.recipients) : status.usableKeys
    let reasons = keys.sorted().compactMap { closedKeys[$0] }
    guard let reason = reasons.first, reasons.count == keys.count else { return }
    throw Self.error(file, "not tried: \(reason)")
  }

  private func failure(
    of file: String, _ status: GPGStatus, _ complaint: GPGComplaint
  ) throws(StoreError) -> GPGFailure {
    guard !status.missingKeys.isEmpty, !status.foundKey else {
      return GPGFailure(status, complaint)
    }
    // gpg also says that a key is missing when it cannot reach its agent.
    let secretKeys: Set<String>
    if let known = state.withLock({ $0.secretKeys }) {
      secretKeys = known
    } else {
      let list = try run(
        ["--batch", "--with-colons", "--list-secret-keys"], Self.maximumListByteCount, file)
      guard case .ended(status: 0, let keys, _) = list.ending else {
        var reason = "it did not list them"
        if case .ended(_, _, let complaint) = list.ending { reason = GPGComplaint(complaint).end }
        return GPGFailure("gpg cannot reach its secret keys: \(reason)", .everything)
      }
      secretKeys = Self.keys(in: String(decoding: keys.copyBytes(), as: UTF8.self))
      state.withLock { $0.secretKeys = secretKeys }
    }
    var status = status
    status.correct(by: secretKeys)
    return GPGFailure(status, complaint)
  }

  /// Returns the identifiers of the keys in a list with colons, as GnuPG's `doc/DETAILS` has it;
  /// those that it marks with `#` are not there.
  private static func keys(in list: String) -> Set<String> {
    Set(
      list.split(separator: "\n").compactMap { line in
        let fields = line.split(separator: ":", omittingEmptySubsequences: false)
        guard fields.count > 4, fields[0] == "sec" || fields[0] == "ssb",
          fields.dropFirst(14).first != "#"
        else { return nil }
        return String(fields[4])
      })
  }

  private func run(
    _ arguments: [String], _ largest: Int, _ file: String
  ) throws(StoreError) -> GPG.Outcome {
    do throws(SystemCallError) {
      let needsForeground = state.withLock { $0.needsForeground }
      let outcome = try gpg.run(
        arguments, maximumOutputByteCount: largest,
        place: needsForeground ? .foreground : .ownGroup)
      guard case .wantedTerminal = outcome.ending, !needsForeground else { return outcome }
      state.withLock { $0.needsForeground = true }
      return try gpg.run(arguments, maximumOutputByteCount: largest, place: .foreground)
    } catch let error where error.errno == SystemCallError.noSuchFile {
      throw StoreError(
        .unavailable, store: file, reason: "gpg is not installed",
        remedy: "Install it: apt-get install gnupg", errno: error.errno)
    } catch {
      throw StoreError(
        .io, store: file,
        reason: "gpg cannot be run: \(CurrentProcess.message(for: error.errno))",
        errno: error.errno)
    }
  }

  private static func error(_ file: String, _ reason: String) -> StoreError {
    StoreError(.undecodable, store: file, reason: reason)
  }
}
