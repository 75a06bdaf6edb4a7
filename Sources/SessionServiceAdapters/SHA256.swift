#if ServiceAdapters
/// SHA-256 (FIPS 180-4) and the HMAC made of it (RFC 2104), for log entries: these adapters need no
/// C library.
///
/// It is not for passwords or for the sealing of items, and takes no care of its memory.
enum SHA256 {
  private static let blockByteCount = 64

  /// Returns the HMAC of a message: 32 bytes.
  static func authenticationCode(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    var block = key.count > blockByteCount ? hash(key) : key
    block += [UInt8](repeating: 0, count: blockByteCount - block.count)
    let inner = hash(block.map { $0 ^ 0x36 } + message)
    return hash(block.map { $0 ^ 0x5c } + inner)
  }

  /// Returns the hash of a message: 32 bytes.
  static func hash(_ message: [UInt8]) -> [UInt8] {
    var padded = message + [0x80]
    let end = (padded.count + 8 + blockByteCount - 1) / blockByteCount * blockByteCount
    padded += [UInt8](repeating: 0, count: end - 8 - padded.count)
    padded += bytes(of: UInt64(message.count) * 8)
    var state = initialState
    for start in stride(from: 0, to: padded.count, by: blockByteCount) {
      compress(padded[start..<start + blockByteCount], into: &state)
    }
    return state.flatMap(bytes(of:))
  }

  private static func compress(_ block: ArraySlice<UInt8>, into state: inout [UInt32]) {
    var schedule = stride(from: block.startIndex, to: block.endIndex, by: 4).map { start in
      block[start..<start + 4].reduce(0) { $0 << 8 | UInt32($1) }
    }
    for round in 16..<64 {
      let (early, late) = (schedule[round - 15], schedule[round - 2])
      let small0 = rotated(early, 7) ^ rotated(early, 18) ^ early >> 3
      let small1 = rotated(late, 17) ^ rotated(late, 19) ^ late >> 10
      schedule.append(schedule[round - 16] &+ small0 &+ schedule[round - 7] &+ small1)
    }
    // The letters of the standard.
    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
    for round in 0..<64 {
      let big1 = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
      let choice = e & f ^ ~e & g
      let first = h &+ big1 &+ choice &+ roundConstants[round] &+ schedule[round]
      let big0 = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
      let majority = a & b ^ a & c ^ b & c
      (h, g, f, e) = (g, f, e, d &+ first)
      (d, c, b, a) = (c, b, a, first &+ big0 &+ majority)
    }
    for (index, word) in [a, b, c, d, e, f, g, h].enumerated() { state[index] &+= word }
  }

  private static func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 {
    word >> count | word << (32 - count)
  }

  private static func bytes<Word: FixedWidthInteger>(of word: Word) -> [UInt8] {
    stride(from: Word.bitWidth - 8, through: 0, by: -8).map {
      UInt8(truncatingIfNeeded: word >> $0)
    }
  }

  /// The first bits of the fractions of the square roots of the first 8 primes.
  private static let initialState: [UInt32] = [
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
    0x1f83d9ab, 0x5be0cd19,
  ]

  /// The first bits of the fractions of the cube roots of the first 64 primes.
  private static let roundConstants: [UInt32] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1,
    0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3,
    0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786,
    0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147,
    0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13,
    0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
    0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a,
    0x5b9cca4f, 0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208,
    0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
  ]
}
#endif
