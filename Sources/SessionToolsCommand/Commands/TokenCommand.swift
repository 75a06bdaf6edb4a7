import ArgumentParser
import SessionToolsBase
import WebLogin

/// `session-tools token`.
struct TokenCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "token",
    abstract: "Write a valid access token to standard output.",
    discussion: """
      The token is valid for at least a minute, if the server allows. It is refreshed if \
      necessary, once for all processes that ask at the same time. A newline follows it. After \
      Ctrl-C or SIGTERM, a refresh under way has 5 seconds to be stored, because the server \
      accepts a refresh token only once. Exit status 10 when no one is logged in or the server \
      wants the person to log in again, with the command for that; 11 when the token cannot be \
      refreshed now.

      The forms of --format, each on one line:
        text             the token
        header           Authorization: Bearer TOKEN
        json             {"access_token": …, "expires_at": …, "token_type": …}; the
                         time as in 2026-01-31T12:00:00Z, or null if unknown
        exec-credential  what kubectl reads from a credential plugin
        aws              what AWS's programs read from a credential_process

      With aws and --role-arn, temporary keys of the role, for which STS takes the token if it is \
      a JWT of an issuer that the role trusts; AWS_REGION or AWS_ENDPOINT_URL_STS says where. \
      With aws alone, the keys that import aws-credentials: made items of the service.

      Example:
        session-tools token --store ~/vault --service mail --format header |
          curl -H @- https://api.example.com
        kubectl config set-credentials ada --exec-command session-tools \\
          --exec-api-version client.authentication.k8s.io/v1 \\
          --exec-arg token --exec-arg --store=/home/ada/vault \\
          --exec-arg --service=cluster --exec-arg --format=exec-credential
        aws configure set profile.work.credential_process \\
          "session-tools token --store $HOME/vault \\
          --service aws/work --format aws"
      """)

  @OptionGroup var login: LoginOptions

  @Option(name: .long, help: ArgumentHelp("The form of the output.", valueName: "form"))
  var format = TokenFormat.text
  @Flag(help: "Refresh the token although it has not expired, such as after it was revoked.")
  var refresh = false
  @Option(
    name: .customLong("role-arn"),
    help: ArgumentHelp("With --format aws: the role whose keys are wanted.", valueName: "arn"))
  var role: String?
  @Option(
    name: .customLong("role-session-name"),
    help: ArgumentHelp("By what name AWS's logs know this session.", valueName: "name"))
  var roleSession = "session-tools"

  func validate() throws {
    guard role == nil || format == .aws else {
      throw ValidationError("Give --role-arn with --format aws.")
    }
  }

  func run() throws {
    let role = try role.map { try AWSRole($0, session: roleSession) }
    let place = try login.open()
    guard format != .aws || role != nil else {
      // Keys that are items, which are not refreshed.
      return try StandardOutput.write(place.awsKeys().line + "\n")
    }
    let credential = try credential(in: place)
    let line = try waiting { [format] in try await format.line(of: credential, role) }
    try StandardOutput.write(line + "\n")
  }

  /// Returns the login's tokens, and records that they were read.
  private func credential(in place: LoginStore) throws -> OAuthCredential {
    let (log, item) = (try place.accessLog(), try place.itemName)
    var login: StoredLogin?
    do {
      let found = try place.login()
      login = found
      let session = place.session(found.client)
      let credential = try endingRefreshes {
        try waitingForPerson { [refresh] in
          try await session.validItem(refresh ? .always : .ifNeeded).credential
        }
      }
      log?.note(item, .read)
      return credential
    } catch {
      // No other failure comes before there is a login.
      var isAbsent = login == nil && error is Failure
      if case SessionError.notSignedIn = error { isAbsent = true }
      log?.note(item, isAbsent ? .absent : .failed(error))
      throw login.map { failure(for: error, place, $0) } ?? error
    }
  }

  /// Runs a closure, and lets a refresh that it leaves under way store what the server issues: the
  /// token that was sent is spent.
  private func endingRefreshes<Value>(_ body: () throws -> Value) throws -> Value {
    let result = Result { try body() }
    if try !waiting(for: { await SessionRefreshes.end(within: .seconds(5)) }) {
      StandardError.say(
        "session-tools: new tokens of the server may be lost, because they could not be stored; if "
          + "the next refresh fails, log in again.")
    }
    return try result.get()
  }

  private func failure(
    for error: any Error, _ place: LoginStore, _ login: StoredLogin
  ) -> any Error {
    if case SessionError.notSignedIn = error {
      return place.loginNeeded("no one is logged in", again: login)
    }
    if case SessionError.rejected = error {
      return place.loginNeeded("the server no longer accepts the login", again: login)
    }
    guard let error = error as? SessionError, let cause = error.underlying as? WebLoginError else {
      return error
    }
    guard cause.requiresLogin else {
      return Remedy.isAboutLogin(cause) ? place.notRefreshed(login, because: cause) : cause
    }
    let reason = cause.refusal.map { " (\($0.error))" } ?? ""
    return place.loginNeeded(
      cause.code == .noRefreshToken
        ? "the login has expired, and the server issued no refresh token"
        : "the server wants the person to log in again\(reason)", again: login)
  }
}
