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
    let value = try SecretBytes.taken(
      fromEnvironment: name, remedy: "Set it to what openssl rand -base64 32 prints")
    let buffer = ByteBuffer(byteCount: value.byteCount, isSecret: true)
    buffer.copy(value, to: 0)
    let key = try EncodedKey.decode(
      buffer, 0..<value.byteCount, of: "environment variable \(name)")
    self.init(key, label: name)
  }
}
