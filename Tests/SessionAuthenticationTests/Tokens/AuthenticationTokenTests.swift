import Foundation
import SessionAuthentication
import SessionToolsBase
import SessionToolsTesting
import Testing

struct AuthenticationTokenTests {
  let clock = ManualClock()

  @Test func `a permanent token is valid until the machine restarts`() {
    let token = PermanentToken(clock: clock)
    #expect(token.isValid(at: clock.instant))
    clock.suspend(for: .seconds(1_000_000))
    #expect(token.isValid(at: clock.instant))
    #expect(!token.isValid(at: BootInstant(bootIdentifier: "next", uptime: clock.uptime)))
  }

  @Test func `an expiring token is valid from the first moment, and sleep counts`() {
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    #expect(token.isValid(at: clock.instant))
    clock.suspend(for: .milliseconds(59_999))
    #expect(token.isValid(at: clock.instant))
    clock.suspend(for: .milliseconds(1))
    #expect(!token.isValid(at: clock.instant))
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `a token without a lifetime is never valid`(lifetime: Duration) {
    #expect(!ExpiringToken(lifetime: lifetime, clock: clock).isValid(at: clock.instant))
  }

  @Test func `the wall clock does not affect a token`() {
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    clock.jump(wallClockBy: .seconds(-3600))
    #expect(token.isValid(at: clock.instant))
    clock.jump(wallClockBy: .seconds(7200))
    #expect(token.isValid(at: clock.instant))
    clock.advance(by: .seconds(60))
    clock.jump(wallClockBy: .seconds(-7200))
    #expect(!token.isValid(at: clock.instant))
  }

  @Test func `a decoded token is as old as the encoded one`() throws {
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    clock.advance(by: .seconds(40))
    let first = try decoded(token)
    #expect(first == token)
    clock.advance(by: .seconds(19))
    let again = try decoded(first)
    #expect(again.isValid(at: clock.instant))
    clock.advance(by: .seconds(1))
    #expect(!again.isValid(at: clock.instant))
    #expect(try decoded(PermanentToken(clock: clock)).isValid(at: clock.instant))
  }

  @Test func `a token from another boot or from the future is not valid`() {
    let now = clock.instant
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    #expect(!token.isValid(at: BootInstant(bootIdentifier: "next", uptime: now.uptime)))
    #expect(!token.isValid(at: now.advanced(by: .seconds(-1))))
    #expect(!PermanentToken(clock: clock).isValid(at: now.advanced(by: .seconds(-1))))
  }

  @Test func `a token with the machine's clock belongs to this boot`() {
    let token = ExpiringToken(lifetime: .seconds(3600))
    #expect(token.isValid(at: SystemSessionClock().instant))
    #expect(SystemSessionClock().bootIdentifier.count == 36)
  }

  @Test(arguments: [
    (uptime: [Int64.max, 0], lifetime: [0, 1]), (uptime: [-1, 0], lifetime: [0, 1]),
    (uptime: [0, 1], lifetime: [Int64.max, 0]), (uptime: [0, 1], lifetime: [Int64.min, 0]),
  ])
  func `a token whose times cannot be computed with is refused`(uptime: [Int64], lifetime: [Int64])
  {
    let text = """
      {"issued": {"bootIdentifier": "a", "uptime": \(uptime)}, "lifetime": \(lifetime)}
      """
    #expect(throws: DecodingError.self) {
      try JSONDecoder().decode(ExpiringToken.self, from: Data(text.utf8))
    }
  }

  @Test func `a token with the longest possible lifetime is valid`() throws {
    let token = ExpiringToken(lifetime: .seconds(Int64.max), clock: clock)
    #expect(try decoded(token).isValid(at: clock.instant))
    // The gate waits for the token's end.
    let gate = AuthenticationGate(token: ExpiringToken(lifetime: .seconds(Int64.max))) { _ in
      PermanentToken()
    }
    #expect(!gate.requiresAuthentication)
  }

  private func decoded<Token: AuthenticationToken & Codable>(_ token: Token) throws -> Token {
    try JSONDecoder().decode(Token.self, from: JSONEncoder().encode(token))
  }
}
