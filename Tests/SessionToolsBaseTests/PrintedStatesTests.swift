import Foundation
import SessionToolsBase
import Testing

/// An error whose description quotes a secret.
private struct TalkativeError: Error, CustomStringConvertible {
  let description = "the server said no to s3cret"
}

@Suite struct `a session's state that a program prints` {
  private let user = User(id: "ada", token: "s3cret")

  private func texts(_ value: some Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    let optional = Optional(value) as Any
    return ["\(value)", String(reflecting: value), "\([value])", "\(optional)", dumped]
  }

  @Test func `shows no item`() throws {
    let session = UserSession<User>(
      container: try StoreContainer<User>(MemoryStore(), service: "mail"),
      storageIdentifier: "user")
    #expect("\(session.state)" == "signed out: the user was signed out")
    try session.didLogIn(user)
    #expect("\(session.state)" == "signed in")
    for text in texts(session.state) { #expect(!text.contains("s3cret"), "\(text)") }
  }

  @Test func `shows no error that may quote one`() {
    let states: [SessionState<User>] = [
      .unavailable(TalkativeError()), .signedOut(.rejected(TalkativeError())),
      .signedOut(.requested(TalkativeError())), .signedIn(user),
    ]
    for state in states {
      for text in texts(state) { #expect(!text.contains("s3cret"), "\(text)") }
    }
    #expect("\(states[0])" == "unavailable: TalkativeError")
    let locked = SessionState<User>.unavailable(
      StoreError(.locked, store: "memory", reason: "it is locked"))
    #expect("\(locked)" == "unavailable: memory: it is locked.")
  }

  @Test func `has the reason of a sign-out as a sentence, whatever the cause is`() {
    let error = StoreError(.io, store: "server", reason: "revoked")
    let reasons: [SignOutReason<any Error>] = [
      .unknown, .requested(nil), .requested(error), .rejected(TalkativeError()),
    ]
    #expect(
      reasons.map { "\($0)" } == [
        "the user was signed out", "the user was signed out",
        "the user was signed out because of an error: server: revoked.",
        "the user was signed out by the server: TalkativeError",
      ])
    #expect(
      "\(SignOutReason.rejected("server: revoked."))"
        == "the user was signed out by the server: server: revoked.")
    #expect("\(SignOutReason.rejected(7))" == "the user was signed out by the server: Int")
    for reason in reasons { #expect(!"\(reason)".contains("s3cret")) }
  }
}
