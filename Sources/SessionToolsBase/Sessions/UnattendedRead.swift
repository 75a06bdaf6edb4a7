/// Reads that nobody in front of the screen has asked for.
///
/// A gate refuses them at once while it is locked, whatever its policy is: it neither waits for a
/// person nor has one asked.
package enum UnattendedRead {
  /// Whether this task makes one.
  @TaskLocal package static var isUnderWay = false

  /// Makes one, or several.
  static func make<Result>(_ body: () async throws -> Result) async throws -> Result {
    try await $isUnderWay.withValue(true, operation: body)
  }
}
