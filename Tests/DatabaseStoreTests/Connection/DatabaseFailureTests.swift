import DatabaseStore
import SessionToolsBase
import Testing

/// The codes that callers receive for what happened between them and the server.
@Suite struct DatabaseFailureTests {
  private func state(_ code: String) throws -> SQLState {
    try #require(SQLState(received: code))
  }

  @Test(arguments: [
    ("08006", StoreError.unavailable), ("57P03", .unavailable), ("53300", .unavailable),
    ("3D000", .unavailable), ("3F000", .unavailable), ("42P01", .unavailable),
    ("25006", .unavailable), ("28P01", .accessDenied), ("28000", .accessDenied),
    ("42501", .accessDenied), ("40001", .timedOut), ("40P01", .timedOut), ("55P03", .timedOut),
    ("57014", .timedOut), ("53100", .noSpace), ("53400", .noSpace), ("54000", .valueTooLarge),
    ("XX001", .corrupt), ("XX002", .corrupt), ("23505", .io), ("XX000", .io), ("26000", .io),
  ])
  func `an error of the server has the code of the table`(
    sqlState: String, code: StoreError.Code
  ) throws {
    let failure = DatabaseFailure.server(try state(sqlState))
    for effect in [DatabaseStatement.Effect.read, .write] {
      let error = failure.storeError(effect, store: "db")
      #expect(error.code == code)
      #expect((error.underlying as? SQLState)?.code == sqlState)
    }
    let refused = DatabaseFailure.notSent(.refused(try state(sqlState)))
    #expect(refused.storeError(.write, store: "db").code == code)
  }

  @Test(arguments: [
    ("08006", true), ("08P01", false), ("57P01", true), ("57P03", true), ("57P04", false),
    ("53000", true), ("53200", true), ("53300", true), ("53100", false), ("25006", true),
    ("40001", true), ("3D000", false), ("28P01", false), ("XX000", false),
  ])
  func `an error may pass by itself where the server may answer otherwise later`(
    sqlState: String, isTransient: Bool
  ) throws {
    let failure = DatabaseFailure.server(try state(sqlState))
    #expect(failure.storeError(.read, store: "db").isTransient == isTransient)
  }

  @Test func `a server that cannot be reached may answer later`() {
    for failure in [
      DatabaseFailure.notSent(.noConnection("refused")), .noAnswer(.brokenConnection),
    ] {
      #expect(failure.storeError(.read, store: "db").isTransient)
    }
    #expect(!DatabaseFailure.notSent(.forkedChild).storeError(.read, store: "db").isTransient)
  }

  @Test func `a change without an answer has an unknown outcome, a read has none`() throws {
    let ended = try state("57P01")
    for silence in [
      DatabaseFailure.Silence.deadline, .brokenConnection, .ended(ended), .warning(nil),
      .warning(ended),
    ] {
      let error = DatabaseFailure.noAnswer(silence).storeError(.write, store: "db")
      #expect(error.code == .outcomeUnknown)
      #expect(DatabaseFailure.noAnswer(silence).isRepeatable)
    }
    let unknown = DatabaseFailure.server(try state("40003"))
    #expect(unknown.storeError(.write, store: "db").code == .outcomeUnknown)
    let codes = [DatabaseFailure.Silence.deadline, .brokenConnection, .ended(ended)].map {
      DatabaseFailure.noAnswer($0).storeError(.read, store: "db").code
    }
    #expect(codes == [.timedOut, .unavailable, .unavailable])
  }

  @Test func `what was not sent has changed nothing`() {
    let password = StoreError(.keyMissing, store: "vault", reason: "no password")
    let cases: [(DatabaseFailure, StoreError.Code, isRepeatable: Bool)] = [
      (.timedOut, .timedOut, false),
      (.notSent(.noConnection("refused")), .unavailable, true),
      (.notSent(.notTrusted("certificate")), .accessDenied, false),
      (.notSent(.otherServer("CockroachDB")), .unavailable, false),
      (.notSent(.noPassword(password)), .keyMissing, false),
      (.notSent(.forkedChild), .unavailable, false),
    ]
    for (failure, code, isRepeatable) in cases {
      #expect(failure.storeError(.write, store: "db").code == code)
      #expect(failure.storeError(.read, store: "db").code == code)
      #expect(failure.isRepeatable == isRepeatable)
    }
  }

  @Test(arguments: ["", "2350", "235055", "2350a", "23 05", "ä123"])
  func `only a code is taken for one`(text: String) {
    #expect(SQLState(received: text) == nil)
  }

  @Test func `pauses grow from 50 milliseconds to five seconds`() {
    var pause = OpeningPause()
    #expect(!pause.isActive && pause.end == nil)
    let now = ContinuousClock.now
    var lengths: [Duration] = []
    for _ in 0..<9 {
      pause.fail(.timedOut, at: now)
      lengths.append(pause.end.map { $0 - now } ?? .zero)
    }
    #expect(lengths == [50, 100, 200, 400, 800, 1600, 3200, 5000, 5000].map { .milliseconds($0) })
    pause.succeed()
    #expect(!pause.isActive && pause.end == nil)
  }
}
