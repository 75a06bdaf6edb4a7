import Foundation
import SessionAuthentication
import SessionToolsBase
import SessionToolsTesting
import Testing

struct AuthenticationTokenTests {
  let clock = ManualClock()

  @Test func `a permanent one counts until the machine starts anew`() {
    let token = PermanentToken(clock: clock)
    #expect(token.isValid(at: clock.instant))
    clock.suspend(for: .seconds(1_000_000))
    #expect(token.isValid(at: clock.instant))
    #expect(!token.isValid(at: BootInstant(bootIdentifier: "next", uptime: clock.uptime)))
  }

  @Test func `an expiring one counts from the first moment, and sleep counts`() {
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    #expect(token.isValid(at: clock.instant))
    clock.suspend(for: .milliseconds(59_999))
    #expect(token.isValid(at: clock.instant))
    clock.suspend(for: .milliseconds(1))
    #expect(!token.isValid(at: clock.instant))
  }

  @Test(arguments: [Duration.zero, .seconds(-1)])
  func `one with no lifetime never counts`(lifetime: Duration) {
    #expect(!ExpiringToken(lifetime: lifetime, clock: clock).isValid(at: clock.instant))
  }

  @Test func `the wall clock has nothing to do with it`() {
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    clock.jump(wallClockBy: .seconds(-3600))
    #expect(token.isValid(at: clock.instant))
    clock.jump(wallClockBy: .seconds(7200))
    #expect(token.isValid(at: clock.instant))
    clock.advance(by: .seconds(60))
    clock.jump(wallClockBy: .seconds(-7200))
    #expect(!token.isValid(at: clock.instant))
  }

  @Test func `one that was encoded comes back as old as it is`() throws {
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

  @Test func `one of another start of the machine, or of the future, does not count`() {
    let now = clock.instant
    let token = ExpiringToken(lifetime: .seconds(60), clock: clock)
    #expect(!token.isValid(at: BootInstant(bootIdentifier: "next", uptime: now.uptime)))
    #expect(!token.isValid(at: now.advanced(by: .seconds(-1))))
    #expect(!PermanentToken(clock: clock).isValid(at: now.advanced(by: .seconds(-1))))
  }

  @Test func `by the machine's clock it is of this start`() {
    let token = ExpiringToken(lifetime: .seconds(3600))
    #expect(token.isValid(at: SystemSessionClock().instant))
    #expect(SystemSessionClock().bootIdentifier.count == 36)
  }

  private func decoded<Token: EncodableAuthenticationToken>(_ token: Token) throws -> Token {
    try JSONDecoder().decode(Token.self, from: JSONEncoder().encode(token))
  }
}
