public import OAuthLogin
public import SessionToolsBase

extension OAuthClient {
  /// Names a server and the program there, whose requests ``CurlHTTPClient`` sends.
  ///
  /// As `init(issuer:clientID:authentication:resources:trustedAudiences:http:clock:)`.
  public convenience init(
    issuer: String, clientID: String, authentication: ClientAuthentication = .none,
    resources: [String] = [], trustedAudiences: [String] = [],
    clock: any SessionClock = SystemSessionClock()
  ) {
    self.init(
      issuer: issuer, clientID: clientID, authentication: authentication, resources: resources,
      trustedAudiences: trustedAudiences, http: CurlHTTPClient(), clock: clock)
  }

  /// Makes a client of a server whose addresses are given, whose requests ``CurlHTTPClient`` sends.
  public convenience init(
    server: AuthorizationServer, clientID: String, authentication: ClientAuthentication = .none,
    resources: [String] = [], trustedAudiences: [String] = [],
    clock: any SessionClock = SystemSessionClock()
  ) {
    self.init(
      server: server, clientID: clientID, authentication: authentication, resources: resources,
      trustedAudiences: trustedAudiences, http: CurlHTTPClient(), clock: clock)
  }
}
