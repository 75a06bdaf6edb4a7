import SessionToolsDatabaseServer
import DatabaseStore
import SessionToolsBase
import SessionToolsTestSupport
import Testing

/// The deadline of what is expected to succeed, on however busy a machine.
var later: ContinuousClock.Instant { .now + patience }

/// How much later than its deadline an operation may end, on a busy machine.
///
/// Without a deadline it would not end at all.
let grace = Duration.seconds(10)

extension DatabaseServer {
  /// Opens a connection to the socket, as the superuser.
  func open(
    _ mode: DatabaseStatement.Mode = .named, _ more: String = ""
  ) throws -> DatabaseConnection {
    try opening("\(socketAddress()) \(more)", mode).open(until: later)
  }
}

/// Returns how connections to an address are opened.
func opening(
  _ address: String, _ mode: DatabaseStatement.Mode = .named, allowsPlaintext: Bool = false,
  password: String? = DatabaseServer.password
) throws -> ConnectionOpening {
  ConnectionOpening(
    try DatabaseAddress(address, allowsPlaintext: allowsPlaintext), statements: mode
  ) { () throws(StoreError) in password.map { SecretBytes(utf8: $0) } }
}

extension DatabaseConnection {
  /// Runs a statement that is not prepared.
  @discardableResult
  func run(
    _ text: String, as effect: DatabaseStatement.Effect = .read,
    until deadline: ContinuousClock.Instant = later
  ) throws(DatabaseFailure) -> DatabaseAnswer {
    try run(DatabaseStatement(name: nil, text: text), as: effect, until: deadline)
  }
}

/// The kinds of failures, without what they say.
enum FailureKind: Hashable {
  case notSent, timedOut, noAnswer, server
}

extension DatabaseFailure {
  var kind: FailureKind {
    switch self {
    case .notSent: .notSent
    case .timedOut: .timedOut
    case .noAnswer: .noAnswer
    case .server: .server
    }
  }
}

/// Runs a closure that must fail by a deadline, and returns its failure.
func failure<Result>(
  by deadline: ContinuousClock.Instant = later,
  _ body: () throws -> Result, sourceLocation: SourceLocation = #_sourceLocation
) -> DatabaseFailure? {
  let error = #expect(throws: DatabaseFailure.self, sourceLocation: sourceLocation) {
    _ = try body()
  }
  #expect(
    ContinuousClock.now < deadline + grace, "it ended too late", sourceLocation: sourceLocation)
  return error
}

extension DatabaseFailure? {
  /// The code that a caller of a store receives.
  func code(_ effect: DatabaseStatement.Effect = .read) -> StoreError.Code? {
    self?.storeError(effect, store: "db").code
  }
}
