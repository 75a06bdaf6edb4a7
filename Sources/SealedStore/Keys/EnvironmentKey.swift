import Glibc
public import SecretStores

extension RawKey {
  /// Takes the Base64 of 32 bytes out of a variable of the environment, which is then removed.
  ///
  /// The second choice, where no file can be mounted: a variable is in `docker inspect` and in the
  /// pod's specification, the parent process has it, and `/proc/PID/environ` showed it until now.
  /// Afterward that file has zeros, and no child inherits it. What has read the environment before
  /// may have a copy.
  ///
  /// Call this first in `main`: the C library cannot change the environment while another thread
  /// reads it.
  ///
  /// - Parameter name: The variable's name, which is also the key's label.
  /// - Throws: `keyMissing` when it is not set, `invalidKey` when it is empty or has no key; it is
  ///   removed all the same.
  public init(takingFromEnvironment name: String) throws(StoreError) {
    guard let value = unsafe getenv(name) else {
      throw StoreError(
        .keyMissing, store: "environment variable \(name)",
        reason: "it is not set, or was taken before",
        remedy: "Set it to what openssl rand -base64 32 prints")
    }
    let byteCount = unsafe strlen(value)
    let buffer = ByteBuffer(byteCount: byteCount, isSecret: true)
    unsafe buffer.pointer(to: 0..<byteCount).copyMemory(from: value, byteCount: byteCount)
    unsafe explicit_bzero(value, byteCount)
    unsafe unsetenv(name)
    let key = try EncodedKey.decode(buffer, 0..<byteCount, of: "environment variable \(name)")
    self.init(key, label: name)
  }
}
