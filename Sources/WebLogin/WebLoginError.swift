import SessionToolsBase

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
public struct WebLoginError: Error, Sendable {
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
  /// `false` if the request certainly did not leave the machine.
  let wasSent: Bool

  init(
    _ code: Code, _ reason: String, remedy: String? = nil, refusal: Refusal? = nil,
    retryAfter: Duration? = nil, wasSent: Bool = true, underlying: (any Error)? = nil
  ) {
    self.code = code
    self.reason = reason
    self.remedy = remedy
    self.refusal = refusal
    self.retryAfter = retryAfter
    self.wasSent = wasSent
    self.underlying = underlying
  }

  /// Whether a retry may succeed: there is no network, or the server is busy or answers nonsense.
  ///
  /// Any other error is permanent: it recurs until someone changes something.
  public var isTransient: Bool {
    [Self.unreachable, Self.unavailable, Self.invalidResponse].contains(code)
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
  /// The app cancelled the task.
  public static let cancelled = WebLoginError.Code("cancelled")
  /// The login was not finished before its deadline: offer to try again.
  public static let timedOut = WebLoginError.Code("timedOut")
  /// No browser could be opened: log in with a device code instead.
  public static let noBrowser = WebLoginError.Code("noBrowser")
  /// There is no login to resume, or it has been resumed already: start a new one.
  public static let nothingPending = WebLoginError.Code("nothingPending")
  /// The pending login belongs to another server or client: start a new one.
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
  /// The server lacks a required feature, such as device authorization or S256.
  public static let unsupported = WebLoginError.Code("unsupported")
  /// The token endpoint refused permanently (RFC 6749, section 5.2); ``refusal`` has its error.
  public static let refused = WebLoginError.Code("refused")
  /// The credential has no refresh token: log in again when it has expired.
  public static let noRefreshToken = WebLoginError.Code("noRefreshToken")
  /// The server could not be reached, or did not answer in time: try again.
  public static let unreachable = WebLoginError.Code("unreachable")
  /// The server is busy or broken: try again, after ``WebLoginError/retryAfter`` if it is given.
  public static let unavailable = WebLoginError.Code("unavailable")
  /// The answer does not follow the protocol, such as a web page of a network with its own login:
  /// try again.
  public static let invalidResponse = WebLoginError.Code("invalidResponse")
  /// The answer is larger than any authorization server's: a retry does not help.
  public static let responseTooLarge = WebLoginError.Code("responseTooLarge")
}

/// The codes, for `catch` clauses such as `catch WebLoginError.denied`.
extension WebLoginError {
  /// The code ``Code/denied``.
  public static let denied = Code.denied
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
  /// The code ``Code/unsupported``.
  public static let unsupported = Code.unsupported
  /// The code ``Code/refused``.
  public static let refused = Code.refused
  /// The code ``Code/noRefreshToken``.
  public static let noRefreshToken = Code.noRefreshToken
  /// The code ``Code/unreachable``.
  public static let unreachable = Code.unreachable
  /// The code ``Code/unavailable``.
  public static let unavailable = Code.unavailable
  /// The code ``Code/invalidResponse``.
  public static let invalidResponse = Code.invalidResponse
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

    init(error: String, text: String?) {
      let isPlain = error.utf8.allSatisfy { (0x20...0x7E).contains($0) && $0 != 0x22 && $0 != 0x5C }
      self.error = isPlain && (1...100).contains(error.utf8.count) ? error : "unknown"
      self.text = text.map { String($0.prefix(1000)) }
    }
  }
}

extension WebLoginError.Refusal: CustomStringConvertible, CustomReflectable {
  /// The error, without the text.
  public var description: String { error }

  /// The error, without the text.
  public var customMirror: Mirror { Mirror(self, children: ["error": error]) }
}
