import Dispatch
public import SessionAuthentication
import SessionToolsBase

/// Asks for the password of the person's account on this machine, by PAM.
///
/// The program asks, with its own `AuthenticationPrompt`, whatever the modules of a PAM service
/// want to know. The service's file comes with the program, and is installed by the administrator.
///
/// It is a presence check: the answer is yes or no, and nothing is derived from the password.
///
/// A wrong password takes as long as the modules want, commonly two seconds.
public struct PAMAuthenticator: Authenticator {
  private static let lanes = BlockingLanes("session-tools.accounts", count: 1)

  private let file: PAMServiceFile
  private let user: String?
  private let prompt: any AuthenticationPrompt

  /// Asks by a service.
  ///
  /// - Parameters:
  ///   - service: The name of a file in `/etc/pam.d` or `/usr/lib/pam.d` which has rules of the
  ///     kinds `auth` and `account`; ``exampleServiceFile`` is one. Without the file nobody is
  ///     asked: the service `other`, which libpam takes then, is never used.
  ///   - user: Whose password to ask for; the user who runs the process when `nil`. Other users'
  ///     passwords can commonly be checked by root only.
  ///   - configurationDirectory: A directory that has the service's file, instead of the system's.
  ///     Files that it includes by a plain name are still the system's.
  ///   - prompt: What asks the person.
  public init(
    service: String, user: String? = nil, configurationDirectory: String? = nil,
    prompt: some AuthenticationPrompt
  ) {
    file = PAMServiceFile(service: service, directory: configurationDirectory)
    self.user = user
    self.prompt = prompt
  }

  /// `passcode`.
  public var method: AuthenticationMethod { .passcode }

  /// The content of a service's file that asks what a login on this machine asks.
  public static var exampleServiceFile: String { PAMServiceFile.example }

  /// Whether the service's file is there and complete, and the user exists: `misconfigured` if not.
  ///
  /// Nothing is begun, since a module may reach for a device or count a failure. So an account
  /// without a password, or one that is locked, is found out by asking.
  public func availability() async -> AuthenticatorAvailability {
    do throws(AuthenticationError) {
      try file.check()
      if user == nil { _ = try await Self.ownName() }
      return .available
    } catch {
      return .unavailable(error)
    }
  }

  /// Asks the person what the service's modules want to know.
  ///
  /// Takes a thread, not one of the task's pool. Cancelled, or out of time, it returns at once; the
  /// thread ends when its module does.
  ///
  /// - Returns: `passcode` when a secret was asked for and given, `system` when a module was
  ///   content with something else, such as a finger.
  /// - Throws: `failed`; `userCancel`, `userFallback`, `appCancel`, `timedOut`; `passcodeNotSet`
  ///   when the account is open to everyone without a question; `lockout`; `accountUnusable` when
  ///   the account or its password has expired; `notPermitted` when this process may not check
  ///   passwords; `misconfigured`; `serviceLost` when a module could not find out.
  public func evaluate(
    _ request: AuthenticationRequest
  ) async throws(AuthenticationError) -> AuthenticationMethod {
    try file.check()
    return try await PAMAttempt.run(timeout: request.timeout) {
      attempt throws(AuthenticationError) in
      try transact(in: attempt, request)
    }.get()
  }

  /// Not on a thread of the pool: the user database may be on a server.
  private static func ownName() async throws(AuthenticationError) -> String {
    try await withCheckedContinuation { continuation in
      lanes.queue.async {
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
      // What the account's rules say of it, such as that a password will expire, involves nobody.
      isPersonInvolved = conversation.isPersonInvolved
      stage = .account
      try transaction.checkAccount()
      authenticated = transaction.user
    } catch {
      if let refusal = conversation.refusal { throw refusal }
      throw error.error(in: stage, conversation.notice)
    }
    // A service may be content although the person cancelled the question of one of its modules.
    if let refusal = conversation.refusal { throw refusal }
    guard authenticated == user else {
      throw AuthenticationError(
        AuthenticationError.failed, "another user was authenticated than the one who was asked for")
    }
    if conversation.hasGivenSecret { return .passcode }
    // `pam_unix nullok` is content with whoever asks for an account that has no password. It says
    // nothing, while a module that waits for a finger or a key says so.
    guard isPersonInvolved else {
      throw AuthenticationError(
        AuthenticationError.passcodeNotSet, "the account of \(user) has no password",
        remedy: "Set one with passwd")
    }
    return .system
  }
}
