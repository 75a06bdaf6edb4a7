/// What a server asks for before it lets a client in, without TLS.
///
/// libpq answers whatever is asked for: a server that wants the password as it is gets it. Only
/// libpq 16 and later can be told not to.
struct AuthenticationRequests {
  /// What no server gets without checked TLS.
  enum Refused {
    /// The password as it is.
    case clearText
    /// A hash of the password from which weak ones are guessed, and with which anyone can log in to
    /// the server that keeps it.
    case md5
    /// A message that the protocol does not have.
    case malformed
  }

  /// Whether the server has let the client in.
  private(set) var isOver = false
  /// The type, the length and, of a request, the code of the message that is being read.
  private var head: [UInt8] = []
  /// How many bytes of the message follow.
  private var restByteCount = 0

  /// Reads what has arrived; returns what must not be answered.
  mutating func read(_ bytes: ArraySlice<UInt8>) -> Refused? {
    var bytes = bytes
    while !isOver, !bytes.isEmpty {
      if restByteCount > 0 {
        let count = min(restByteCount, bytes.count)
        restByteCount -= count
        bytes = bytes.dropFirst(count)
        continue
      }
      head.append(bytes.removeFirst())
      if let refused = readHead() { return refused }
    }
    return nil
  }

  private mutating func readHead() -> Refused? {
    guard head.count >= 5 else { return nil }
    let length = number(1..<5)
    guard head[0] == UInt8(ascii: "R") else {
      guard length >= 4 else { return .malformed }
      restByteCount = length - 4
      head = []
      return nil
    }
    guard length >= 8 else { return .malformed }
    guard head.count == 9 else { return nil }
    defer { head = [] }
    restByteCount = length - 8
    // As in "Message Formats" of PostgreSQL's documentation.
    switch number(5..<9) {
    case 0: isOver = true
    case 3: return .clearText
    case 5: return .md5
    default: break
    }
    return nil
  }

  private func number(_ range: Range<Int>) -> Int { head[range].reduce(0) { $0 << 8 | Int($1) } }
}
