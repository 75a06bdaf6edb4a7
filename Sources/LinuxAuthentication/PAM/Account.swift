import Glibc
import SessionAuthentication

/// An account of this machine.
enum Account {
  /// Returns the name of this process's real user, from the user database; may wait for a directory
  /// server.
  ///
  /// - Throws: `misconfigured` when the database does not have the user.
  static func ownName() throws(AuthenticationError) -> String {
    // Most entries fit; some directory services have larger ones, which give ERANGE until they fit.
    var capacity = 1 << 10
    while capacity <= 1 << 20 {
      var entry = unsafe passwd()
      var found: UnsafeMutablePointer<passwd>?
      var text = [CChar](repeating: 0, count: capacity)
      let name: String? = unsafe text.withUnsafeMutableBufferPointer { text in
        guard let start = text.baseAddress,
          unsafe getpwuid_r(getuid(), &entry, start, text.count, &found) != ERANGE
        else { return nil }
        guard let name = unsafe found?.pointee.pw_name else { return "" }
        return unsafe String(cString: name)
      }
      if let name, !name.isEmpty { return name }
      if name != nil { break }
      capacity *= 4
    }
    throw AuthenticationError(
      .misconfigured, "the user \(getuid()) has no account on this machine",
      remedy: "Specify the user to ask")
  }
}
