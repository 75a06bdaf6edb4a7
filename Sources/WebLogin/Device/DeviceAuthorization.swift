public import Foundation
import SessionToolsBase

/// A login that a person finishes on another device (RFC 8628, section 3.2).
///
/// Show ``userCode`` and ``verificationAddress``, such as with ``terminalText(withQRCode:)``, and
/// wait with ``OAuthClient/credential(for:)``. Descriptions, dumps and mirrors show neither code.
public struct DeviceAuthorization: Sendable {
  /// The code that the person types in on the other device.
  public let userCode: String
  /// The address where the person types the code in.
  public let verificationAddress: URL
  /// The same address with the code in it, for a QR code or a link, if the server gives one.
  public let completeVerificationAddress: URL?
  /// How long the codes are valid, from when they were issued.
  public let lifetime: Duration
  let deviceCode: SecretBytes
  let interval: Duration
  let scopes: [String]
  /// The end of the codes' lifetime, by the clock that never jumps.
  let end: Duration
}

extension DeviceAuthorization: CustomStringConvertible, CustomDebugStringConvertible,
  CustomReflectable
{
  /// A redacted description, without the codes.
  public var description: String { "[device authorization, valid for \(lifetime)]" }
  /// A redacted description, without the codes.
  public var debugDescription: String { description }
  /// No children, so that a dump shows nothing.
  public var customMirror: Mirror { Mirror(self, children: []) }
}

extension OAuthClient {
  private struct Response: Decodable {
    let device_code: String
    let user_code: String
    let expires_in: Double
    var verification_uri: String?
    /// Google's name for it from before the RFC.
    var verification_url: String?
    var verification_uri_complete: String?
    var interval: Double?
  }

  /// Asks for the codes of a login on another device (RFC 8628, section 3.1).
  ///
  /// - Parameter scopes: The scopes to ask for.
  /// - Returns: The codes and the address to show.
  /// - Throws: `unsupported` when the server does not support such logins; `refused`,
  ///   `unreachable`, `unavailable`, `invalidResponse`, `responseTooLarge`, `cancelled`, or the
  ///   errors of asking for the server's addresses.
  public func authorizeDevice(
    scopes: [String] = []
  ) async throws(WebLoginError) -> DeviceAuthorization {
    guard let endpoint = try await server().deviceAuthorizationEndpoint else {
      throw WebLoginError(
        .unsupported, "the server does not support logins on another device",
        remedy: "Log in with a browser on this machine")
    }
    var request = TokenRequest(endpoint: endpoint, fields: [])
    // The client ID is required in the body here, even if the `Authorization` field has it.
    if case .basic = authentication { request.fields.append(("client_id", clientID)) }
    if !scopes.isEmpty { request.fields.append(("scope", scopes.joined(separator: " "))) }
    let begin = clock.uptime
    let response = try await answer(to: request)
    guard let answer = try? JSONDecoder().decode(Response.self, from: response.body),
      let address = try? ServerAddress.parse(
        answer.verification_uri ?? answer.verification_url ?? "", called: "verification address"),
      // The code is shown in terminals, so only plain ASCII of limited length is accepted.
      (1...64).contains(answer.user_code.utf8.count),
      answer.user_code.utf8.allSatisfy({ (0x20...0x7E).contains($0) }),
      (1...86_400).contains(answer.expires_in)
    else { throw WebLoginError(invalid: response) }
    let interval = answer.interval ?? 5
    return DeviceAuthorization(
      userCode: answer.user_code, verificationAddress: address,
      completeVerificationAddress: answer.verification_uri_complete.flatMap {
        // This address is only a convenience, so an invalid one is left out.
        try? ServerAddress.parse($0, called: "verification address")
      }, lifetime: .seconds(answer.expires_in), deviceCode: SecretBytes(utf8: answer.device_code),
      interval: .seconds(interval.isFinite ? min(max(1, interval), 300) : 5), scopes: scopes,
      end: begin + .seconds(answer.expires_in))
  }
}
