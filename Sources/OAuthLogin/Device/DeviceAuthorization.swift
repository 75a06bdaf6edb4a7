public import Foundation
import SessionToolsBase

/// A login that a person finishes on another device (RFC 8628, section 3.2).
///
/// Show ``userCode`` and ``verificationAddress``, such as with ``terminalText(withQRCode:)``, and
/// wait with ``OAuthClient/credential(for:timeout:)``. Descriptions, dumps and mirrors show neither
/// code.
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
  /// Asks for the codes of a login on another device (RFC 8628, section 3.1).
  ///
  /// - Parameters:
  ///   - scopes: The scopes to ask for.
  ///   - parameters: Further parameters for the server; those that this method sets itself are
  ///     ignored here.
  /// - Returns: The codes and the address to show.
  /// - Throws: `missingEndpoint` when the server does not support such logins; `refused`,
  ///   `unavailable`, `invalidResponse`, `incompleteResponse`, the errors of sending the request,
  ///   or those of asking for the server's addresses.
  public func authorizeDevice(
    scopes: [String] = [], parameters: [String: String] = [:]
  ) async throws(WebLoginError) -> DeviceAuthorization {
    let server = try await server()
    guard let endpoint = server.deviceAuthorizationEndpoint else {
      throw WebLoginError(
        .missingEndpoint,
        "\(ServerAddress.name(of: server.tokenEndpoint)) names no usable address for logins on "
          + "another device", remedy: "Log in with a browser, or give that address yourself")
    }
    var request = TokenRequest(endpoint: endpoint, fields: resourceFields)
    request.fields += parameters.filter { !AuthorizationRequest.ownParameters.contains($0.key) }
      .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    // The client ID is required in the body here, even if the `Authorization` field has it.
    if case .basic = authentication { request.fields.append(("client_id", clientID)) }
    if !scopes.isEmpty { request.fields.append(("scope", scopes.joined(separator: " "))) }
    let begin = clock.uptime
    let answer = try await answer(to: request)
    guard let fields = answer.fields else { throw answer.invalid }
    guard let deviceCode = fields.text("device_code") else {
      throw answer.refusal ?? answer.incomplete("has no device_code")
    }
    let lifetime = Self.lifetime(fields)
    return DeviceAuthorization(
      userCode: try Self.userCode(fields, in: answer),
      verificationAddress: try Self.verificationAddress(fields, in: answer),
      completeVerificationAddress: fields.text("verification_uri_complete").flatMap {
        // This address is only a convenience, so an invalid one is left out.
        try? ServerAddress.parse($0, called: "verification address", isForPerson: true)
      }, lifetime: lifetime, deviceCode: SecretBytes(utf8: deviceCode),
      interval: .seconds(min(max(1, fields.number("interval") ?? 5), 300)), scopes: scopes,
      end: begin + lifetime)
  }

  /// The code is shown in terminals, so only plain ASCII of limited length is accepted.
  private static func userCode(
    _ fields: AnswerFields, in answer: ServerAnswer
  ) throws(WebLoginError) -> String {
    guard let code = fields.text("user_code") else { throw answer.incomplete("has no user_code") }
    guard code.utf8.count <= 64 else {
      throw answer.incomplete("has a user_code of \(code.utf8.count) bytes, which no one types in")
    }
    guard code.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) else {
      throw answer.incomplete("has a user_code with characters that not every terminal can show")
    }
    return code
  }

  private static func verificationAddress(
    _ fields: AnswerFields, in answer: ServerAnswer
  ) throws(WebLoginError) -> URL {
    // The second is Google's name for it, from before the RFC.
    guard let text = fields.text("verification_uri") ?? fields.text("verification_url") else {
      throw answer.incomplete("has no verification_uri")
    }
    do throws(WebLoginError) {
      return try ServerAddress.parse(text, called: "verification_uri", isForPerson: true)
    } catch {
      throw answer.incomplete("cannot be used: \(error.reason)")
    }
  }

  /// The codes' lifetime: at most a day, and 15 minutes if the server does not say, as most do.
  private static func lifetime(_ fields: AnswerFields) -> Duration {
    let seconds = fields.number("expires_in").flatMap { $0 > 0 ? $0 : nil } ?? 900
    return .seconds(min(seconds, 86_400))
  }
}
