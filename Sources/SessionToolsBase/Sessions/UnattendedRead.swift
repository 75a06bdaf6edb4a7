/// Reads that no user has asked for.
///
/// A gate refuses them at once while it is locked, whatever its policy: it neither waits for a user
/// nor prompts one.
package enum UnattendedRead {
  /// Whether this task makes such a read.
  @TaskLocal package static var isUnderWay = false

  /// Makes one or several such reads.
  static func make<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await $isUnderWay.withValue(true, operation: body)
  }
}
