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
  /// What happened: one sentence without its full stop.
  public let reason: String

  /// Makes an error, for your own HTTP clients.
  public init(_ code: Code, wasSent: Bool = true, reason: String) {
    self.code = code
    self.wasSent = wasSent
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
