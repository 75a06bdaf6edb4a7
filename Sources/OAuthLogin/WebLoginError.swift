import Foundation
public import SessionToolsBase

/// Why a login, a token request or a resumption failed; the kinds differ in what to do next.
///
/// ```swift
/// do {
///   credential = try await login.start()
/// } catch WebLoginError.denied {
///   explainThatAccessIsNeeded()
/// } catch WebLoginError.timedOut {
///   offerToTryAgain()
/// }
/// ```
///
/// No text of the error, and nothing in its dump, contains a code, a token, a verifier, a state or
/// the address that the browser was sent to. ``refusal`` has the server's error.
public struct WebLoginError: SessionToolsError {
  /// The kind of failure.
  public let code: Code
  /// What happened: one sentence without its full stop.
  public let reason: String
  /// What to do about it: one sentence without its full stop, if there is something to do.
  public let remedy: String?
  /// The server's error, if it is the cause.
  public let refusal: Refusal?
  /// How long the server asked to wait, if it did.
  public let retryAfter: Duration?
  /// The error of the HTTP client or another library behind it, if there is one.
  ///
  /// For programs; it is not part of the description.
  public let underlying: (any Error)?
  /// What to store in place of the credential that was refreshed, although the refresh failed.
  ///
  /// The answer had a new refresh token, which is in it, and no usable access token: it has the old
  /// one still. The session of a refresher stores it by itself. It is not part of the description.
  public private(set) var credential: OAuthCredential?
  /// Whether the server did what it was asked, and its answer cannot be used: what was sent is
  /// spent.
  let wasAccepted: Bool

  init(
    _ code: Code, _ reason: String, remedy: String? = nil, refusal: Refusal? = nil,
    retryAfter: Duration? = nil, wasAccepted: Bool = false,
    underlying: (any Error)? = nil
  ) {
    self.code = code
    self.reason = reason
    self.remedy = remedy
    self.refusal = refusal
    self.retryAfter = retryAfter
    self.wasAccepted = wasAccepted
    self.underlying = underlying
  }

  /// Whether a retry may succeed: there is no network, or the server is busy or answers nonsense.
  ///
  /// Any other error is permanent: it recurs until someone changes something.
  public var isTransient: Bool {
    [
      Self.nameNotFound, Self.unreachable, Self.answerTimedOut, Self.proxyUnreachable,
      Self.unavailable, Self.invalidResponse,
    ].contains(code)
  }

  /// Whether only a person can help, by logging in again.
  ///
  /// It decides what to say and not what to store: a refresher removes an item for `invalid_grant`
  /// alone (RFC 6749, section 5.2), which is about the refresh token itself.
  public var requiresLogin: Bool {
    code == Self.noRefreshToken
      || code == Self.refused && refusal.map { Self.loginRefusals.contains($0.error) } ?? false
  }

  /// Sources: RFC 6749, section 5.2; OpenID Connect Core, section 3.1.2.6; RFC 6750, section 3.1;
  /// and the documentation of GitHub, Slack, Auth0 and Supabase.
  private static let loginRefusals: Set = [
    "invalid_grant", "invalid_token", "interaction_required", "login_required", "consent_required",
    "account_selection_required", "mfa_required", "bad_refresh_token", "invalid_refresh_token",
    "expired_token", "token_expired", "token_revoked", "refresh_token_not_found",
    "refresh_token_already_used", "session_not_found", "session_expired",
  ]

  /// Returns the error with a credential to store.
  func with(credential: OAuthCredential?) -> WebLoginError {
    var error = self
    error.credential = credential
    return error
  }

  /// A kind of failure; later versions may add kinds, so a `switch` needs a `default`.
  public struct Code: Hashable, Sendable, CustomStringConvertible {
    /// The name of the kind.
    public let description: String

    fileprivate init(_ name: String) {
      description = name
    }
  }
}

extension WebLoginError.Code {
  /// The person refused, or the server did so for them; ``refusal`` has the server's error and its
  /// text.
  public static let denied = WebLoginError.Code("denied")
  /// The browser came back from another server than the one at which the login began (RFC 9207).
  public static let wrongIssuer = WebLoginError.Code("wrongIssuer")
  /// The app cancelled the task.
  public static let cancelled = WebLoginError.Code("cancelled")
  /// The login was not finished before its deadline: offer to try again.
  public static let timedOut = WebLoginError.Code("timedOut")
  /// No browser could be opened: log in with a device code instead.
  public static let noBrowser = WebLoginError.Code("noBrowser")
  /// There is no login to resume, or it has been resumed already; or a web service got a callback
  /// of a login that did not begin in the same browser, or is finished: start a new one.
  public static let nothingPending = WebLoginError.Code("nothingPending")
  /// The pending login belongs to another server, client or user: start a new one.
  public static let otherLogin = WebLoginError.Code("otherLogin")
  /// The port that the browser returns to is taken, so the login cannot be resumed: start a new
  /// one, unless another instance of the program is continuing it.
  public static let portTaken = WebLoginError.Code("portTaken")
  /// It was not possible to listen on any port of the loopback interface.
  public static let listenerFailed = WebLoginError.Code("listenerFailed")
  /// An address or another setting is invalid; nothing was sent.
  public static let invalidConfiguration = WebLoginError.Code("invalidConfiguration")
  /// The server's metadata names an issuer other than the one that was asked, or is incomplete.
  public static let invalidMetadata = WebLoginError.Code("invalidMetadata")
  /// The server has no metadata where it should be: check the issuer, or give the server's
  /// addresses.
  public static let noMetadata = WebLoginError.Code("noMetadata")
  /// The server names no usable address for this kind of login, or there is nothing at the address:
  /// choose the other kind, or give the address.
  public static let missingEndpoint = WebLoginError.Code("missingEndpoint")
  /// The server does not support S256, or issues tokens that are not bearer tokens.
  public static let unsupported = WebLoginError.Code("unsupported")
  /// The token endpoint refused permanently (RFC 6749, section 5.2); ``refusal`` has its error.
  public static let refused = WebLoginError.Code("refused")
  /// The credential has no refresh token: log in again when it has expired.
  public static let noRefreshToken = WebLoginError.Code("noRefreshToken")
  /// The server's name was not found, which is also so without a network: try again.
  public static let nameNotFound = WebLoginError.Code("nameNotFound")
  /// The server could not be reached, or the connection broke: try again.
  public static let unreachable = WebLoginError.Code("unreachable")
  /// The server did not answer in time: try again.
  public static let answerTimedOut = WebLoginError.Code("answerTimedOut")
  /// The server's certificate is not trusted: a retry does not help.
  public static let untrusted = WebLoginError.Code("untrusted")
  /// No secure connection was made, such as because the server speaks no TLS: a retry does not
  /// help.
  public static let insecure = WebLoginError.Code("insecure")
  /// The proxy that the environment names could not be reached, or did not answer: try again.
  public static let proxyUnreachable = WebLoginError.Code("proxyUnreachable")
  /// The proxy refused, such as because it asks for a password: a retry does not help.
  public static let proxyRefused = WebLoginError.Code("proxyRefused")
  /// The server is busy or broken: try again, after ``WebLoginError/retryAfter`` if it is given.
  public static let unavailable = WebLoginError.Code("unavailable")
  /// The answer is not from an authorization server, such as a web page of a network with its own
  /// login: try again.
  public static let invalidResponse = WebLoginError.Code("invalidResponse")
  /// The answer is from an authorization server, and a field of it is missing or unusable: a retry
  /// does not help.
  public static let incompleteResponse = WebLoginError.Code("incompleteResponse")
  /// The answer is larger than any authorization server's: a retry does not help.
  public static let responseTooLarge = WebLoginError.Code("responseTooLarge")
}

/// The codes, for `catch` clauses such as `catch WebLoginError.denied`.
extension WebLoginError {
  /// The code ``Code/denied``.
  public static let denied = Code.denied
  /// The code ``Code/wrongIssuer``.
  public static let wrongIssuer = Code.wrongIssuer
  /// The code ``Code/cancelled``.
  public static let cancelled = Code.cancelled
  /// The code ``Code/timedOut``.
  public static let timedOut = Code.timedOut
  /// The code ``Code/noBrowser``.
  public static let noBrowser = Code.noBrowser
  /// The code ``Code/nothingPending``.
  public static let nothingPending = Code.nothingPending
  /// The code ``Code/otherLogin``.
  public static let otherLogin = Code.otherLogin
  /// The code ``Code/portTaken``.
  public static let portTaken = Code.portTaken
  /// The code ``Code/listenerFailed``.
  public static let listenerFailed = Code.listenerFailed
  /// The code ``Code/invalidConfiguration``.
  public static let invalidConfiguration = Code.invalidConfiguration
  /// The code ``Code/invalidMetadata``.
  public static let invalidMetadata = Code.invalidMetadata
  /// The code ``Code/noMetadata``.
  public static let noMetadata = Code.noMetadata
  /// The code ``Code/missingEndpoint``.
  public static let missingEndpoint = Code.missingEndpoint
  /// The code ``Code/unsupported``.
  public static let unsupported = Code.unsupported
  /// The code ``Code/refused``.
  public static let refused = Code.refused
  /// The code ``Code/noRefreshToken``.
  public static let noRefreshToken = Code.noRefreshToken
  /// The code ``Code/nameNotFound``.
  public static let nameNotFound = Code.nameNotFound
  /// The code ``Code/unreachable``.
  public static let unreachable = Code.unreachable
  /// The code ``Code/answerTimedOut``.
  public static let answerTimedOut = Code.answerTimedOut
  /// The code ``Code/untrusted``.
  public static let untrusted = Code.untrusted
  /// The code ``Code/insecure``.
  public static let insecure = Code.insecure
  /// The code ``Code/proxyUnreachable``.
  public static let proxyUnreachable = Code.proxyUnreachable
  /// The code ``Code/proxyRefused``.
  public static let proxyRefused = Code.proxyRefused
  /// The code ``Code/unavailable``.
  public static let unavailable = Code.unavailable
  /// The code ``Code/invalidResponse``.
  public static let invalidResponse = Code.invalidResponse
  /// The code ``Code/incompleteResponse``.
  public static let incompleteResponse = Code.incompleteResponse
  /// The code ``Code/responseTooLarge``.
  public static let responseTooLarge = Code.responseTooLarge
}

extension WebLoginError.Code {
  /// Lets `catch WebLoginError.denied` match an error by its code.
  public static func ~= (code: WebLoginError.Code, error: any Error) -> Bool {
    (error as? WebLoginError)?.code == code
  }
}

extension WebLoginError: CustomStringConvertible, CustomReflectable {
  /// What happened and what to do.
  public var description: String {
    let name = refusal.map { " (\($0.error))" } ?? ""
    let end = remedy.map { ". \($0)." } ?? "."
    let seconds = retryAfter?.wholeSeconds
    return reason + name + end + (seconds.map { " Try again in \($0) s." } ?? "")
  }

  /// The kind and the reason, without any text from a server.
  public var customMirror: Mirror {
    Mirror(self, children: ["code": code.description, "reason": reason])
  }
}

extension WebLoginError: SecretFreeError {}
extension OAuthHTTPError: SecretFreeError {}

extension WebLoginError {
  /// The error with which an authorization server refused (RFC 6749, sections 4.1.2.1 and 5.2).
  public struct Refusal: Hashable, Sendable {
    /// The error, such as `access_denied` or `invalid_grant`; `unknown` if it does not have the
    /// form that the RFC prescribes.
    public let error: String
    /// A text for developers, if the server gave one: at most 1,000 characters, of any kind.
    ///
    /// Descriptions leave it out, because a server may quote what it was sent.
    public let text: String?

    /// Whether the refresh token itself is refused, and no new request with it can succeed.
    ///
    /// Microsoft's servers refuse a good token with `invalid_grant` while something else is
    /// missing, such as a second factor or consent, and say what in `suberror`.
    let isOfToken: Bool

    init(error: String, text: String?, suberror: String? = nil) {
      let isPlain = error.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
      self.error = isPlain && (1...100).contains(error.utf8.count) ? error : "unknown"
      self.text = text.map { String($0.prefix(1000)) }
      isOfToken =
        error == "invalid_grant"
        && suberror.map { ["bad_token", "token_expired"].contains($0) } ?? true
    }
  }
}

extension WebLoginError.Refusal: CustomStringConvertible, CustomReflectable {
  /// The error, without the text.
  public var description: String { error }

  /// The error, without the text.
  public var customMirror: Mirror { Mirror(self, children: ["error": error]) }
}
