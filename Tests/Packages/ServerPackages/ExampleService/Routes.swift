import AsyncHTTPClient
import Foundation
import HTTPTypes
import Hummingbird
import OAuthLogin
import SealedStore
import SessionToolsBase

struct CookieSession: Codable, Sendable {
  let account: String
}

struct Routes: Sendable {
  let parts: Parts

  func router() -> Router<BasicRequestContext> {
    let router = Router()
    router.get("/login", use: begin)
    router.get("/callback", use: callback)
    router.get("/inbox", use: inbox)
    router.post("/logout", use: signOut)
    router.get("/livez") { _, _ in HTTPResponse.Status.ok }
    router.get("/readyz", use: ready)
    return router
  }

  // MARK: - Logging in

  @Sendable private func begin(
    _ request: Request, _ context: BasicRequestContext
  ) async throws -> Response {
    do throws(WebLoginError) {
      let redirect = try await parts.login.begin(
        returnTo: "/inbox", cookies: request.headers[values: .cookie])
      let cookies = [redirect.cookie] + redirect.expiredCookies
      return answer(.seeOther, to: redirect.address.absoluteString, cookies.map(\.setCookie))
    } catch {
      return answer(to: error, context)
    }
  }

  @Sendable private func callback(
    _ request: Request, _ context: BasicRequestContext
  ) async throws -> Response {
    do {
      let outcome = try await parts.login.finish(
        query: request.uri.query ?? "", cookies: request.headers[values: .cookie])
      guard let identity = outcome.identity else { throw HTTPError(.internalServerError) }
      // By issuer and subject: an e-mail address can be given to another person.
      let account = try AccountIdentifier(identity.accountName)
      try await parts.accounts.session(of: account).signIn(outcome.credential)
      // A new identifier, whatever the browser had before.
      let identifier = RawKey.random().copyBytes().map { String(format: "%02x", $0) }.joined()
      try await parts.persist.create(
        key: identifier, value: CookieSession(account: account.text), expires: .seconds(43_200))
      let cookie =
        "\(cookieName)=\(identifier); Path=/; \(isSecure ? "Secure; " : "")HttpOnly; SameSite=Lax"
      return answer(.seeOther, to: outcome.returnTo, [cookie, outcome.expiredCookie.setCookie])
    } catch let error as WebLoginError {
      return answer(to: error, context)
    }
  }

  @Sendable private func signOut(
    _ request: Request, _ context: BasicRequestContext
  ) async throws -> HTTPResponse.Status {
    guard let identifier = request.cookies[cookieName]?.value else { return .unauthorized }
    try await parts.persist.remove(key: identifier)
    return .noContent
  }

  // MARK: - Using the login

  @Sendable private func inbox(
    _ request: Request, _ context: BasicRequestContext
  ) async throws -> Response {
    do {
      guard let identifier = request.cookies[cookieName]?.value,
        let cookie = try await parts.persist.get(key: identifier, as: CookieSession.self)
      else { throw HTTPError(.unauthorized) }
      let session = parts.accounts.session(of: try AccountIdentifier(cookie.account))
      let (status, body) = try await session.withValidItem {
        credential -> (HTTPResponse.Status, ByteBuffer) in
        var request = HTTPClientRequest(url: "\(parts.apiAddress)/me")
        request.headers.add(name: "Authorization", value: "Bearer \(credential.accessToken)")
        let response = try await parts.api.execute(request, timeout: .seconds(30))
        let status = HTTPResponse.Status(code: Int(response.status.code))
        return (status, try await response.body.collect(upTo: 1 << 20))
      } isRejected: {
        $0.0 == .unauthorized
      }
      return Response(
        status: status, headers: [.cacheControl: "no-store"],
        body: .init(byteBuffer: body))
    } catch SessionError.rejected, SessionError.notSignedIn {
      throw HTTPError(HTTPResponse.Status.unauthorized)  // the person must log in again
    } catch let error where error is SessionError || error is StoreError {
      context.logger.error("no valid login now: \(error)")
      throw HTTPError(.serviceUnavailable)
    }
  }

  @Sendable private func ready(
    _ request: Request, _ context: BasicRequestContext
  ) async -> HTTPResponse.Status {
    do throws(StoreError) {
      try await parts.store.check(within: .milliseconds(500))
      return .ok
    } catch {
      context.logger.notice("not ready: \(error)")
      return .serviceUnavailable
    }
  }

  private var isSecure: Bool { parts.publicAddress.hasPrefix("https:") }
  private var cookieName: String { isSecure ? "__Host-session" : "session" }

  private func answer(to error: WebLoginError, _ context: BasicRequestContext) -> Response {
    // It contains no code, token or state.
    context.logger.notice("login failed: \(error)")
    if error.isTransient { return answer(.serviceUnavailable) }
    return answer(error.code == .denied ? .forbidden : .badRequest)
  }

  private func answer(
    _ status: HTTPResponse.Status, to place: String? = nil, _ cookies: [String] = []
  ) -> Response {
    var headers: HTTPFields = [.cacheControl: "no-store"]
    if let name = HTTPField.Name("Referrer-Policy") { headers[name] = "no-referrer" }
    headers[.location] = place
    for cookie in cookies { headers.append(HTTPField(name: .setCookie, value: cookie)) }
    return Response(status: status, headers: headers)
  }
}
