import Glibc

extension SecretBytes {
  /// Takes the value of a variable out of the environment, which is then removed.
  ///
  /// `/proc/PID/environ` shows zeros afterward, and no child inherits the value. It must not be
  /// called while another thread reads the environment.
  ///
  /// - Throws: `keyMissing`, with the remedy, when it is not set.
  package static func taken(
    fromEnvironment name: String, remedy: String
  ) throws(StoreError) -> SecretBytes {
    guard let value = unsafe getenv(name) else {
      throw StoreError(
        .keyMissing, store: "environment variable \(name)",
        reason: "it is not set, or was taken before", remedy: remedy)
    }
    let byteCount = unsafe strlen(value)
    let bytes = unsafe SecretBytes(UnsafeRawBufferPointer(start: value, count: byteCount))
    unsafe explicit_bzero(value, byteCount)
    unsafe unsetenv(name)
    return bytes
  }
}
