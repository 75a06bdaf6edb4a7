import ArgumentParser
import Foundation
import SessionToolsBase
import WebLogin

/// The form in which `token` writes an access token.
enum TokenFormat: String, CaseIterable, ExpressibleByArgument {
  /// The token alone.
  case text
  /// A field of HTTP.
  case header
  /// An object with the names of RFC 6749.
  case json
  /// What `kubectl` reads from a credential plugin.
  case execCredential = "exec-credential"
  /// Keys of AWS, for its `credential_process`; see ``AWSKeys``.
  case aws

  /// Returns a credential in this form, on one line.
  ///
  /// - Parameters:
  ///   - credential: The credential.
  ///   - role: The role whose keys AWS gives for it, of which only ``aws`` makes use.
  /// - Returns: The line, without its end.
  /// - Throws: `unencodable` if the token cannot be a field of HTTP; as ``AWSRole/keys(for:)``.
  func line(of credential: OAuthCredential, _ role: AWSRole?) async throws -> String {
    let end = credential.expirationDate?.formatted(.iso8601)
    switch self {
    case .text: return credential.accessToken
    case .header:
      guard credential.accessToken.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7f }) else {
        throw StoreError(
          .unencodable, store: "standard output",
          reason: "the token has characters that a field of HTTP cannot have",
          remedy: "Write it with --format json")
      }
      // RFC 6750, 2.1. Servers also write the kind in small letters.
      let kind = credential.tokenType
      return "Authorization: \(kind.lowercased() == "bearer" ? "Bearer" : kind) "
        + credential.accessToken
    case .json:
      return try JSONOption.text(
        of: TokenOutput(
          accessToken: credential.accessToken, expiresAt: end, tokenType: credential.tokenType))
    case .aws:
      guard let role else { throw Failure(.usage, "give --role-arn") }
      return try await role.keys(for: credential.accessToken).line
    case .execCredential:
      return try JSONOption.text(of: ExecCredential(token: credential.accessToken, end: end))
    }
  }
}

private struct TokenOutput: Encodable {
  let accessToken: String
  @Nullable var expiresAt: String?
  let tokenType: String

  private enum CodingKeys: String, CodingKey {
    case accessToken = "access_token"
    case expiresAt = "expires_at"
    case tokenType = "token_type"
  }
}

/// An `ExecCredential` of Kubernetes.
///
/// Source: https://kubernetes.io/docs/reference/access-authn-authz/authentication, Client-go
/// credential plugins.
private struct ExecCredential: Encodable {
  let apiVersion: String
  let kind = "ExecCredential"
  let status: Status

  struct Status: Encodable {
    let expirationTimestamp: String?
    let token: String
  }

  private struct Request: Decodable {
    let apiVersion: String
  }

  private static let versions = ["v1", "v1beta1"].map { "client.authentication.k8s.io/\($0)" }

  /// Answers in the version in which `kubectl` asks, which refuses an answer in another one.
  init(token: String, end: String?) {
    let asked = ProcessInfo.processInfo.environment["KUBERNETES_EXEC_INFO"]
      .flatMap { try? JSONDecoder().decode(Request.self, from: Data($0.utf8)) }
    apiVersion =
      asked.map(\.apiVersion).flatMap { Self.versions.contains($0) ? $0 : nil }
      ?? Self.versions[0]
    status = Status(expirationTimestamp: end, token: token)
  }
}
