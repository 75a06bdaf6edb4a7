import Foundation
import OAuthLogin
import SessionToolsBase
import WebLogin

/// Keys of AWS, in the form in which its programs take them from a `credential_process`.
///
/// Source: https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html
struct AWSKeys: Encodable {
  fileprivate let accessKeyId: String
  fileprivate var expiration: String?
  fileprivate let secretAccessKey: String
  fileprivate let sessionToken: String?

  private enum CodingKeys: String, CodingKey {
    case accessKeyId = "AccessKeyId"
    case expiration = "Expiration"
    case secretAccessKey = "SecretAccessKey"
    case sessionToken = "SessionToken"
    case version = "Version"
  }

  func encode(to encoder: any Encoder) throws {
    var members = encoder.container(keyedBy: CodingKeys.self)
    try members.encode(accessKeyId, forKey: .accessKeyId)
    // Without them, keys are taken for lasting ones; AWS's programs refuse null.
    try members.encodeIfPresent(expiration, forKey: .expiration)
    try members.encode(secretAccessKey, forKey: .secretAccessKey)
    try members.encodeIfPresent(sessionToken, forKey: .sessionToken)
    try members.encode(1, forKey: .version)
  }

  /// The keys on one line.
  ///
  /// - Throws: `unencodable`.
  var line: String {
    get throws(StoreError) { try JSONOption.text(of: self) }
  }
}

// MARK: Keys that are items

extension AWSKeys {
  /// The item that a service with keys always has.
  static let idIdentifier = "aws_access_key_id"

  /// Reads keys as `import aws-credentials:` names them.
  ///
  /// - Parameters:
  ///   - namespace: The service with the keys, such as `aws/default`.
  ///   - location: The store, for messages.
  ///   - value: Reads an item; `nil` if it does not exist.
  /// - Throws: A failure that says what to do if there are no keys, or they have expired or may
  ///   have; any error of the store.
  init(
    in namespace: StoreNamespace, _ location: StoreLocation,
    reading value: (ItemName) throws -> SecretBytes?
  ) throws {
    func text(_ identifier: String) throws -> String? {
      let name = try ItemName(identifier, in: namespace)
      guard let value = try value(name) else { return nil }
      guard let text = String(validating: value.copyBytes(), as: UTF8.self) else {
        throw StoreError(.undecodable, store: "\(location)", reason: "\(name) is not text")
      }
      return text
    }
    guard let id = try text(Self.idIdentifier), let secret = try text("aws_secret_access_key")
    else {
      throw Failure(
        .unavailable,
        "\(location): the service \(namespace.service) has no keys of AWS. "
          + "Run session-tools import \(location.argument.shellQuoted) aws-credentials:, and give "
          + "--service aws/PROFILE; or exchange a login's token for keys, with --role-arn")
    }
    let token = try text("aws_session_token") ?? text("aws_security_token")
    // Of two imports: AWS refuses the pair, and does not say why.
    guard token == nil || !id.hasPrefix("AKIA") else {
      throw Failure(
        .unavailable,
        "\(location): the service \(namespace.service) has a lasting key, and a session token of "
          + "another one. Remove aws_session_token, or import the profile again with "
          + "--on-conflict overwrite")
    }
    (accessKeyId, secretAccessKey, sessionToken) = (id, secret, token)
    // Programs that keep keys of a session write their end under one of these.
    let ends = [
      "expiration", "x_security_token_expires", "aws_credential_expiration", "aws_expiration",
    ]
    var end: (date: Date, identifier: String)?
    for identifier in token == nil ? [] : ends {
      guard let text = try text(identifier), !text.isEmpty else { continue }
      guard let date = Self.date(text) else {
        throw Failure(
          .unavailable,
          "\(location): when the keys of \(namespace.service) expire cannot be read in its item "
            + "\(identifier). Write it as 2026-01-31T12:00:00Z")
      }
      // Of several imports there may be several.
      if end.map({ date < $0.date }) ?? true { end = (date, identifier) }
    }
    if let end {
      guard end.date > .now else {
        throw Failure(
          .unavailable,
          "\(location): the keys of \(namespace.service) expired at "
            + "\(end.date.formatted(.iso8601)), as its item \(end.identifier) says. Get new ones, "
            + "and import them with --on-conflict overwrite; if that does not change the item, "
            + "remove it")
      }
      expiration = end.date.formatted(.iso8601)
    }
  }

  /// Returns the moment that programs mean by a text: ISO 8601, where some write a space, and leave
  /// out that it is UTC, or the seconds since 1970.
  private static func date(_ text: String) -> Date? {
    if let seconds = Int64(text) {
      // Milliseconds would be after the year 9999.
      return 0..<253_402_300_800 ~= seconds ? Date(timeIntervalSince1970: Double(seconds)) : nil
    }
    var text = text.replacing(" ", with: "T", maxReplacements: 1)
    if text.wholeMatch(of: /.*(?:Z|[+-]\d\d:?\d\d)/) == nil { text += "Z" }
    return try? Date(text, strategy: .iso8601)
  }
}

// MARK: Keys for a token

/// A role of AWS, whose temporary keys its service STS gives for a token.
struct AWSRole {
  private let service: URL
  private let name: String
  private let session: String

  /// Takes the address of STS, or its region, from the variables of AWS's programs.
  ///
  /// - Parameters:
  ///   - name: The role's ARN.
  ///   - session: A name by which AWS's logs know who it was.
  ///   - environment: The process's environment.
  /// - Throws: `invalidConfiguration` for an address that is not https.
  init(
    _ name: String, session: String,
    environment: [String: String] = ProcessInfo.processInfo.environment
  ) throws {
    func value(_ names: String...) -> String? {
      names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
    }
    let region = value("AWS_REGION", "AWS_DEFAULT_REGION")
    guard region?.wholeMatch(of: /[a-z0-9-]{1,40}/) != nil || region == nil else {
      throw Failure(.usage, "AWS_REGION is no region of AWS, such as eu-west-1")
    }
    let host =
      region.map { "sts.\($0).amazonaws.com\($0.hasPrefix("cn-") ? ".cn" : "")" }
      ?? "sts.amazonaws.com"
    service = try ServerAddress.parse(
      value("AWS_ENDPOINT_URL_STS", "AWS_ENDPOINT_URL") ?? "https://\(host)/",
      called: "address of STS, from AWS_ENDPOINT_URL_STS or AWS_REGION,")
    self.name = name
    self.session = session
  }

  /// Exchanges a token for keys.
  ///
  /// - Parameter token: A token in the form JWT, of an issuer that the role trusts.
  /// - Returns: The keys.
  /// - Throws: A failure with AWS's answer; any error of the request.
  func keys(for token: String) async throws -> AWSKeys {
    let form = Form.encode([
      ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", name),
      ("RoleSessionName", session), ("WebIdentityToken", token),
    ])
    let request = OAuthHTTPRequest(
      method: "POST", url: service,
      headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "text/xml"],
      body: Data(form.utf8))
    let answer: OAuthHTTPResponse
    do {
      answer = try await CurlHTTPClient().send(request)
    } catch let error as OAuthHTTPError {
      throw Failure(
        .serverUnavailable,
        "\(ServerAddress.name(of: service)) cannot be asked for keys of AWS: \(error.reason). "
          + "Try again when the network works")
    }
    let server = ServerAddress.name(of: service)
    let found = try Self.texts(in: answer.body, of: server, status: answer.status)
    if answer.status == 200, let id = found["AccessKeyId"], let secret = found["SecretAccessKey"],
      let session = found["SessionToken"], let end = found["Expiration"]
    {
      return AWSKeys(
        accessKeyId: id, expiration: end, secretAccessKey: secret, sessionToken: session)
    }
    throw failure(answer.status, found, server, token)
  }

  private func failure(
    _ status: Int, _ found: [String: String], _ server: String, _ token: String
  ) -> Failure {
    let code = found["Code"] ?? ""
    // Of an answer with keys that lacks something, nothing is shown; and no token that is quoted.
    var reason =
      status == 200
      ? "its answer has no keys"
      : "it answers \(status)"
        + [found["Code"], found["Message"]].compactMap(\.self)
        .map { ": \($0.escapingControls().prefix(300))" }.joined()
    for part in [token] + token.split(separator: ".").map(String.init) where part.count > 2 {
      reason = reason.replacing(part, with: "…")
    }
    let exit: ExitStatus =
      switch code {
      case "ExpiredTokenException", "ExpiredToken": .loginNeeded
      case "Throttling", "ThrottlingException", "RequestLimitExceeded", "IDPCommunicationError":
        .serverUnavailable
      default: status >= 500 || status == 429 ? .serverUnavailable : .failure
      }
    return Failure(
      exit, "\(server) gives no keys of the role \(name.escapingControls()): \(reason)")
  }

  /// Returns the texts of the elements that have nothing but text.
  private static func texts(
    in body: Data, of server: String, status: Int
  ) throws(StoreError) -> [String: String] {
    var reader = XMLReader([UInt8](body), name: "the answer of \(server)")
    var (texts, open): ([String: String], [(name: String, text: String)]) = ([:], [])
    do throws(StoreError) {
      while let part = try reader.next() {
        switch part {
        case .start(let element, _): open.append((element, ""))
        case .text(let text): if !open.isEmpty { open[open.count - 1].text += text }
        case .end:
          if let ended = open.popLast() { texts[ended.name] = ended.text }
        }
      }
      return texts
    } catch {
      // An error of something in between is told by its status.
      guard status == 200 else { return [:] }
      throw error
    }
  }
}
