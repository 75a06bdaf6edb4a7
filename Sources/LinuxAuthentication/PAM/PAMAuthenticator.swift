import Glibc
public import SessionAuthentication
import SessionToolsBase

/// An authenticator that asks for the password of the person's account on this machine, with PAM.
///
/// The program asks the questions of a PAM service's modules with its own `AuthenticationPrompt`.
/// The service's file comes with the program, and the administrator installs it.
///
/// It is a presence check: the answer is yes or no, and nothing is derived from the password.
///
/// A wrong password takes as long as the modules require, commonly two seconds.
public struct PAMAuthenticator: UserAuthenticator {
  private static let threads = BlockingExecutor(maximumThreadCount: 1)

  private let file: PAMServiceFile
  private let user: String?
  private let prompt: any AuthenticationPrompt

  /// Makes an authenticator for a service.
  ///
  /// - Parameters:
  ///   - service: The name of a file in `/etc/pam.d` or `/usr/lib/pam.d` that has rules of the
  ///     kinds `auth` and `account`; ``exampleServiceFile`` is an example. Without the file there
  ///     is no question: the service `other`, which libpam would use instead, is never used.
  ///   - user: The user whose password is asked for; the user of the process when `nil`. Commonly
  ///     only root can check other users' passwords.
  ///   - configurationDirectory: A directory with the service's file, instead of the system's.
  ///     Files that it includes by a plain name are still the system's.
  ///   - prompt: Asks the person.
  public init(
    service: String, user: String? = nil, configurationDirectory: String? = nil,
    prompt: some AuthenticationPrompt
  ) {
    file = PAMServiceFile(service: service, directory: configurationDirectory)
    self.user = user
    self.prompt = prompt
  }

  /// The method `passcode`.
  public var method: AuthenticationMethod { .passcode }

  /// The content of a service's file that asks the same as a login on this machine.
  public static var exampleServiceFile: String { PAMServiceFile.example }

  /// Checks that the service's file is complete and the user exists.
  ///
  /// It begins no transaction, since a module may use a device or count a failure. So only an
  /// evaluation reveals an account without a password, or a locked one.
  ///
  /// - Throws: `misconfigured`.
  public func checkAvailability() async throws(AuthenticationError) {
    try file.check()
    if user == nil { _ = try await Self.ownName() }
  }

  /// Asks the person the questions of the service's modules.
  ///
  /// It uses a separate thread, not one of the task's pool. When cancelled or out of time, it
  /// returns at once; the thread ends when its module does.
  ///
  /// - Returns: `passcode` when a secret was asked for and given, `system` when a module accepted
  ///   something else, such as a finger.
  /// - Throws: `failed`; `userCancel`, `userFallback`, `appCancel`, `timedOut`; `passcodeNotSet`
  ///   when the account is open to everyone without a question; `lockout`; `accountUnusable` when
  ///   the account or its password has expired; `notPermitted` when this process may not check
  ///   passwords; `misconfigured`; `serviceLost` when a module could not complete its check.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    try file.check()
    return try await PAMAttempt.run(timeout: request.timeout) {
      attempt throws(AuthenticationError) in
      try transact(in: attempt, request)
    }.get()
  }

  /// Reads the name outside of the task's pool, because the user database may be on a server.
  private static func ownName() async throws(AuthenticationError) -> String {
    try await withCheckedContinuation { continuation in
      threads.run {
        continuation.resume(
          returning: Result { () throws(AuthenticationError) in try Account.ownName() })
      }
    }.get()
  }

  private var userName: String {
    get throws(AuthenticationError) {
      if let user { return user }
      return try Account.ownName()
    }
  }

  /// Runs a transaction, in the attempt's thread.
  private func transact(
    in attempt: PAMAttempt, _ request: AuthenticationRequest
  ) throws(AuthenticationError) -> AuthenticationMethod {
    let user = try userName
    let conversation = PAMConversation(attempt, prompt, request)
    var stage = PAMFailure.Stage.start
    let authenticated: String?
    let isPersonInvolved: Bool
    do throws(PAMFailure) {
      var transaction = try PAMTransaction(
        service: file.service, user: user, directory: file.directory, answer: conversation.pass)
      stage = .authentication
      try transaction.authenticate()
      // Messages of the account's rules, such as that a password will expire, do not involve the
      // person.
      isPersonInvolved = conversation.isPersonInvolved
      stage = .account
      try transaction.checkAccount()
      authenticated = transaction.user
    } catch {
      if let refusal = conversation.refusal { throw refusal }
      throw error.error(in: stage, conversation.lockout)
    }
    // A service may succeed although the person cancelled the question of one of its modules.
    if let refusal = conversation.refusal { throw refusal }
    guard authenticated == user else {
      throw AuthenticationError(
        .failed, "PAM authenticated another user than the requested one")
    }
    if conversation.hasGivenSecret { return .passcode }
    // `pam_unix nullok` accepts anyone for an account without a password, and modules such as
    // pam_echo and pam_motd send messages to no one in particular.
    guard isPersonInvolved else {
      throw AuthenticationError(
        .passcodeNotSet,
        "the service \(file.service) asked for nothing: the account of \(user) has no password, or "
          + "the service asks no one",
        remedy: "Set a password with passwd, or name another service")
    }
    return .system
  }
}

/// An account of this machine.
enum Account {
  /// Returns the name of this process's real user, from the user database; may wait for a directory
  /// server.
  ///
  /// - Throws: `misconfigured` when the database does not have the user.
  static func ownName() throws(AuthenticationError) -> String {
    // Most entries fit; some directory services have larger ones, which give ERANGE until they fit.
    var capacity = 1 << 10
    while capacity <= 1 << 20 {
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      var text = [CChar](repeating: 0, count: capacity)
      let name: String? = unsafe text.withUnsafeMutableBufferPointer { text in
        guard let start = text.baseAddress,
          unsafe getpwuid_r(getuid(), &entry, start, text.count, &found) != ERANGE
        else { return nil }
        guard let name = unsafe found?.pointee.pw_name else { return "" }
        return unsafe String(cString: name)
      }
      if let name, !name.isEmpty { return name }
      if name != nil { break }
      capacity *= 4
    }
    throw AuthenticationError(
      .misconfigured, "the user \(getuid()) has no account on this machine",
      remedy: "Specify the user to ask")
  }
}
