import ArgumentParser
import SessionToolsBase
import StoreMigration

/// The exit status of the tool, which says what to do next.
enum ExitStatus: Int32, CaseIterable {
  case done = 0
  case failure = 1
  case notFound = 3
  case unavailable = 4
  case wrongKey = 5
  case damaged = 6
  case alreadyExists = 7
  case unsafePermissions = 8
  case incomplete = 9
  case loginNeeded = 10
  case serverUnavailable = 11
  case usage = 64
  case commandNotRunnable = 126
  case commandNotFound = 127

  var meaning: String {
    switch self {
    case .done: "done"
    case .failure: "another failure"
    case .notFound: "no such item"
    case .unavailable: "store locked or unavailable: not there, no key for it, timed out"
    case .wrongKey: "wrong key or passphrase, or not the expected store"
    case .damaged: "damaged"
    case .alreadyExists: "already exists"
    case .unsafePermissions: "owner or permissions: unsafe, or access denied"
    case .incomplete: "done, but for some items"
    case .loginNeeded: "login needed: not logged in, or the server no longer accepts the login"
    case .serverUnavailable: "server unavailable: try again later"
    case .usage: "wrong usage, or an invalid name or key"
    case .commandNotRunnable: "run: the command cannot be run"
    case .commandNotFound: "run: there is no such command"
    }
  }

  /// Returns some statuses, one per line, for the help.
  static func list(_ statuses: [ExitStatus] = allCases) -> String {
    statuses.map { status in
      let number = String(status.rawValue)
      return "  \(number)\(String(repeating: " ", count: 4 - number.count))\(status.meaning)"
    }.joined(separator: "\n")
  }

  private static let statuses: [StoreError.Code: ExitStatus] = [
    StoreError.locked: .unavailable,
    StoreError.unavailable: .unavailable,
    StoreError.promptDismissed: .unavailable,
    StoreError.keyMissing: .unavailable,
    StoreError.timedOut: .unavailable,
    StoreError.wrongKey: .wrongKey,
    StoreError.wrongStore: .wrongKey,
    StoreError.keyBlocked: .unavailable,
    StoreError.corrupt: .damaged,
    StoreError.alreadyExists: .alreadyExists,
    StoreError.unsafePermissions: .unsafePermissions,
    StoreError.accessDenied: .unsafePermissions,
    StoreError.invalidName: .usage,
    StoreError.invalidKey: .usage,
  ]

  /// Creates the status of a kind of error; `failure` if the kind has no status of its own.
  init(_ code: StoreError.Code) {
    self = Self.statuses[code] ?? .failure
  }

  /// Creates the status of a migration that did not begin or did not continue.
  init(_ error: MigrationError) {
    self =
      switch error {
      case .conflicts: .alreadyExists
      case .nothingBegun: .unavailable
      case .notClosed, .undone, .other, .notRemovable: .usage
      case .weakerProtection: .failure
      case .store(let error): ExitStatus(error.code)
      }
  }
}

/// A failure of the tool itself, with a message for the person.
struct Failure: Error {
  let status: ExitStatus
  let message: String

  init(_ status: ExitStatus, _ message: String) {
    self.status = status
    self.message = message
  }
}
