/// One thing that `doctor` looked at.
struct Check: Encodable, Sendable {
  enum Status: String, Encodable, Sendable {
    /// As it should be.
    case ok
    /// Worth knowing; nothing is broken.
    case note
    /// Something to fix.
    case problem
  }

  let name: String
  let status: Status
  let finding: String
  /// The command that fixes it.
  @Nullable var remedy: String?
  /// The exit status that the check calls for.
  let exitStatus: ExitStatus

  private enum CodingKeys: CodingKey {
    case finding, name, remedy, status
  }

  static func ok(_ name: String, _ finding: String) -> Check {
    Check(name: name, status: .ok, finding: finding, remedy: nil, exitStatus: .done)
  }

  static func note(_ name: String, _ finding: String, remedy: String? = nil) -> Check {
    Check(name: name, status: .note, finding: finding, remedy: remedy, exitStatus: .done)
  }

  static func problem(
    _ name: String, _ finding: String, remedy: String?, _ exitStatus: ExitStatus = .failure
  ) -> Check {
    Check(name: name, status: .problem, finding: finding, remedy: remedy, exitStatus: exitStatus)
  }
}

extension ExitStatus {
  /// The statuses, the worst last.
  private static let byGravity: [ExitStatus] = [
    .done, .usage, .failure, .notFound, .alreadyExists, .unavailable, .wrongKey,
    .unsafePermissions, .damaged,
  ]

  /// Returns the worst of several statuses.
  static func worst(of statuses: some Sequence<ExitStatus>) -> ExitStatus {
    let all = Set(statuses)
    return byGravity.last(where: all.contains) ?? .done
  }
}
