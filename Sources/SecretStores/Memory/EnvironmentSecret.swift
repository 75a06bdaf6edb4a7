import Glibc

extension SecretBytes {
  /// Takes the value of a variable out of the environment, which is then removed; `nil` when it is
  /// not set.
  ///
  /// `/proc/PID/environ` shows zeros afterward, and no child inherits the value. It must not be
  /// called while another thread reads the environment.
  package static func taken(fromEnvironment name: String) -> SecretBytes? {
    guard let value = unsafe getenv(name) else { return nil }
    let byteCount = unsafe strlen(value)
    let bytes = unsafe SecretBytes(UnsafeRawBufferPointer(start: value, count: byteCount))
    unsafe explicit_bzero(value, byteCount)
    unsafe unsetenv(name)
    return bytes
  }
}
