/// The reason why a request was not answered.
///
/// No text of it contains anything that was sent or received.
public struct OAuthHTTPError: Error, Hashable, Sendable {
  /// The kind of failure.
  public let code: Code
  /// Whether the server may have received the request; `false` only when it certainly did not.
  ///
  /// A refresh token that was not sent is not spent.
  public let wasSent: Bool
  /// The status of the answer, if the answer began to arrive; the proxy's if it refused, such as
  /// 407 when it asks for a password.
  ///
  /// After a status from 200 to 299 the server has done what it was asked, so a refresh token is
  /// spent although the new one was not received.
  public let status: Int?
  /// What happened: one sentence without its full stop.
  ///
  /// `WebLoginError` shows it to people after the server's name, as in "the certificate is not
  /// trusted: it has expired".
  public let reason: String
  /// What arrived of the answer before the connection broke or the time was over; `nil` if nothing
  /// did.
  ///
  /// A server may announce more than it sends, or never end its answer. If the tokens are in what
  /// it sent, they are kept.
  public var received: OAuthHTTPResponse?

  /// Makes an error, for your own HTTP clients.
  public init(_ code: Code, wasSent: Bool = true, status: Int? = nil, reason: String) {
    self.code = code
    self.wasSent = wasSent
    self.status = status
    self.reason = reason
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

extension OAuthHTTPError.Code {
  /// The server could not be reached, or the connection broke before the answer was complete.
  public static let noResponse = OAuthHTTPError.Code("noResponse")
  /// The server's name was not found, which is also so without a network.
  public static let nameNotFound = OAuthHTTPError.Code("nameNotFound")
  /// The server's certificate is not trusted: a retry does not help.
  public static let untrusted = OAuthHTTPError.Code("untrusted")
  /// No secure connection was made, such as because the server speaks no TLS: a retry does not
  /// help.
  public static let insecure = OAuthHTTPError.Code("insecure")
  /// The proxy that the environment names could not be reached, or did not answer.
  public static let proxyUnreachable = OAuthHTTPError.Code("proxyUnreachable")
  /// The proxy refused, such as because it asks for a password: a retry does not help.
  public static let proxyRefused = OAuthHTTPError.Code("proxyRefused")
  /// The answer was not complete within the client's timeout.
  public static let timedOut = OAuthHTTPError.Code("timedOut")
  /// The answer is larger than the client's limit: a retry does not help.
  public static let tooLarge = OAuthHTTPError.Code("tooLarge")
  /// The task was cancelled.
  public static let cancelled = OAuthHTTPError.Code("cancelled")
}

/// The codes, for `catch` clauses such as `catch OAuthHTTPError.noResponse`.
extension OAuthHTTPError {
  /// The code ``Code/noResponse``.
  public static let noResponse = Code.noResponse
  /// The code ``Code/nameNotFound``.
  public static let nameNotFound = Code.nameNotFound
  /// The code ``Code/untrusted``.
  public static let untrusted = Code.untrusted
  /// The code ``Code/insecure``.
  public static let insecure = Code.insecure
  /// The code ``Code/proxyUnreachable``.
  public static let proxyUnreachable = Code.proxyUnreachable
  /// The code ``Code/proxyRefused``.
  public static let proxyRefused = Code.proxyRefused
  /// The code ``Code/timedOut``.
  public static let timedOut = Code.timedOut
  /// The code ``Code/tooLarge``.
  public static let tooLarge = Code.tooLarge
  /// The code ``Code/cancelled``.
  public static let cancelled = Code.cancelled
}

extension OAuthHTTPError.Code {
  /// Lets `catch OAuthHTTPError.timedOut` match an error by its code.
  public static func ~= (code: OAuthHTTPError.Code, error: any Error) -> Bool {
    (error as? OAuthHTTPError)?.code == code
  }
}

extension OAuthHTTPError: CustomStringConvertible {
  /// The reason.
  public var description: String { reason }
}
