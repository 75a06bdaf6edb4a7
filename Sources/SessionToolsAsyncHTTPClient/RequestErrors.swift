#if AsyncHTTPClient
import AsyncHTTPClient
import Glibc
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import OAuthLogin

extension OAuthHTTPError {
  /// Converts an error of AsyncHTTPClient, without quoting it: it may contain header fields.
  init(_ error: any Error, after received: OAuthHTTPResponse?) {
    let failure = error as? HTTPClientError
    switch error {
    case is NIOTooManyBytesError, HTTPParserError.headerOverflow:
      self.init(
        OAuthHTTPError.tooLarge, status: received?.status,
        reason: "the answer is larger than it may be")
    case _ where failure == .deadlineExceeded || failure == .readTimeout:
      self.init(.timedOut, after: received)
    case _ where error is CancellationError || failure == .cancelled:
      self.init(OAuthHTTPError.cancelled, reason: "the request was cancelled")
    default:
      if received == nil, let unsent = Self.unsent(error) {
        self = unsent
      } else {
        self.init(.noResponse, after: received)
      }
    }
  }

  /// The error of an answer that is not complete.
  init(_ code: Code, after received: OAuthHTTPResponse?) {
    self.init(
      code, status: received?.status,
      reason: code == .timedOut ? "the server did not answer in time" : "the connection broke")
    self.received = received
  }

  /// Returns the error when nothing can have reached the server; `nil` otherwise.
  private static func unsent(_ error: any Error) -> OAuthHTTPError? {
    func unsent(_ code: Code, _ reason: String) -> OAuthHTTPError {
      OAuthHTTPError(code, wasSent: false, reason: reason)
    }
    if let error = error as? NIOConnectionError {
      // Both are nil for an address that is not a name.
      return error.dnsAError != nil || error.dnsAAAAError != nil
        ? unsent(.nameNotFound, "the server's name was not found")
        : unsent(.noResponse, "there is no connection to the server")
    }
    if (error as? IOError)?.errnoCode == ECONNREFUSED {
      return unsent(.noResponse, "there is no connection to the server")
    }
    // The handshake comes before the request.
    if case .handshakeFailed? = error as? NIOSSLError {
      return unsent(
        .insecure, "no secure connection was made, or the server's certificate is not trusted")
    }
    if error is NIOSSLExtraError {
      return unsent(.untrusted, "the server's certificate is for another name")
    }
    return switch error as? HTTPClientError {
    case .proxyAuthenticationRequired: unsent(.proxyRefused, "the proxy asks for a password")
    case .invalidProxyResponse, .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
      unsent(.proxyRefused, "the proxy did not let the request through")
    case .connectTimeout, .getConnectionFromPoolTimeout, .alreadyShutdown:
      unsent(.noResponse, "there is no connection to the server")
    case .tlsHandshakeTimeout: unsent(.insecure, "no secure connection was made in time")
    default: nil
    }
  }
}
#endif
