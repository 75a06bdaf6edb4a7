/// A notice that a server sent without being asked.
package struct ServerNotice: Hashable, Sendable {
  /// The severity in English; `nil` when the sender gave none.
  package let severity: String?
  package let state: SQLState?

  /// Whether the server closes the connection after it.
  var isFarewell: Bool { severity == "FATAL" || severity == "PANIC" }

  /// Whether the notice may say that a change was not made as it should be.
  ///
  /// A server that stops waiting for its standby says so only by a warning, and then reports
  /// success. What has no severity is not taken for harmless.
  var isWarning: Bool {
    severity.map { !["NOTICE", "INFO", "LOG", "DEBUG"].contains($0) } ?? true
  }
}

/// The notices of one connection that have not been looked at.
final class NoticeList {
  private var notices: [ServerNotice] = []
  /// Further ones are dropped, but not warnings.
  private static let limit = 64

  func append(_ notice: ServerNotice) {
    if notices.count < Self.limit {
      notices.append(notice)
    } else if notice.isWarning {
      notices[Self.limit - 1] = notice
    }
  }

  func take() -> [ServerNotice] {
    defer { notices = [] }
    return notices
  }
}
