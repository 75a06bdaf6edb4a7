import Foundation
import SessionToolsBase

/// A login that has begun and not ended, with everything another process needs to continue it.
///
/// It contains the proof key's verifier: store it where the credentials are stored. Descriptions,
/// dumps and mirrors show none of it.
public struct PendingLogin: Codable, Hashable, Sendable {
  let state: String
  let verifier: String
  let nonce: String?
  let server: AuthorizationServer
  let clientID: String
  let scopes: [String]
  let parameters: [String: String]
  let resources: [String]
  let family: LoopbackSocket.Family
  let port: UInt16
  let redirectPath: String
  let isRedirectedToLocalhost: Bool
  let deadline: LoginDeadline

  private var redirectHost: String { isRedirectedToLocalhost ? "localhost" : family.rawValue }

  /// The host and port that the browser returns to.
  private var redirectAuthority: String { "\(redirectHost):\(port)" }

  /// The same, and without the port if browsers leave it out (RFC 9110, section 4.2.3).
  var redirectAuthorities: Set<String> {
    port == 80 ? [redirectAuthority, redirectHost] : [redirectAuthority]
  }

  /// The address that the browser returns to (RFC 8252, section 7.3).
  var redirectAddress: String { "http://\(redirectAuthority)\(redirectPath)" }

  /// Returns the address that the browser is sent to.
  ///
  /// - Throws: `missingEndpoint` when the server has no authorization endpoint.
  func authorizationAddress() throws(WebLoginError) -> URL {
    try AuthorizationRequest(
      server: server, clientID: clientID, redirectAddress: redirectAddress, scopes: scopes,
      parameters: parameters, resources: resources, state: state, verifier: verifier, nonce: nonce
    ).address()
  }
}

extension PendingLogin: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
  /// A redacted description, without the state and the verifier.
  public var description: String { "[pending login]" }
  /// A redacted description, without the state and the verifier.
  public var debugDescription: String { description }
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The deadline of a login, by a clock that cannot be set where possible.
struct LoginDeadline: Codable, Hashable, Sendable {
  let begin: Date
  private let end: Date
  private let bootIdentifier: String
  /// In seconds since the machine started, by the clock that never jumps.
  private let uptimeEnd: Double

  init(in duration: Duration, by clock: any SessionClock) {
    let seconds = duration / .seconds(1)
    begin = clock.now
    end = begin + seconds
    bootIdentifier = clock.bootIdentifier
    uptimeEnd = clock.uptime / .seconds(1) + seconds
  }

  /// Returns the time left; `nil` when the deadline has passed.
  ///
  /// After a restart of the machine, only the wall clock is available. A wall clock before the
  /// start of the login has been set back, so the deadline counts as passed.
  func timeLeft(by clock: any SessionClock) -> Duration? {
    let seconds: Double
    if clock.bootIdentifier == bootIdentifier {
      seconds = uptimeEnd - clock.uptime / .seconds(1)
    } else {
      let now = clock.now
      guard now >= begin else { return nil }
      seconds = end.timeIntervalSince(now)
    }
    return seconds > 0 ? .seconds(seconds) : nil
  }
}
