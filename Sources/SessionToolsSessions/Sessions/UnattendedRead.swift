/// Reads that no user has asked for.
///
/// A gate that is locked refuses them at once, also where other reads wait or prompt a user.
package enum UnattendedRead {
  /// Whether this task makes such a read.
  @TaskLocal package static var isUnderWay = false

  /// Makes one or several such reads.
  static func make<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await $isUnderWay.withValue(true, operation: body)
  }
}
