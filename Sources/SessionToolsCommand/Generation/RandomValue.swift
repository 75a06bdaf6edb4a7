import ArgumentParser
import Foundation
import SessionToolsBase

/// A random value: characters of an alphabet, or words of ``WordList``.
enum RandomValue {
  case characters(Int, Alphabet)
  case words(Int)

  /// The sets that characters are taken from.
  enum Alphabet: String, CaseIterable, ExpressibleByArgument {
    case alphanumeric, printable, hexadecimal, digits

    fileprivate var characters: [UInt8] {
      switch self {
      case .alphanumeric: Self.letters + Array("0123456789".utf8)
      // ASCII without the space, which is easily lost at an end.
      case .printable: Array(0x21...0x7E)
      case .hexadecimal: Array("0123456789abcdef".utf8)
      case .digits: Array("0123456789".utf8)
      }
    }

    private static let letters =
      Array(UInt8(ascii: "A")...UInt8(ascii: "Z")) + Array(UInt8(ascii: "a")...UInt8(ascii: "z"))
  }

  /// The entropy in bits: every value that can be made is as likely as every other.
  var entropy: Double {
    switch self {
    case .characters(let count, let alphabet): Self.bits(count, of: alphabet.characters.count)
    case .words(let count): Self.bits(count, of: WordList.words.count)
    }
  }

  private static func bits(_ count: Int, of choices: Int) -> Double {
    Double(count) * log2(Double(choices))
  }

  /// Makes a new value.
  func make() -> SecretBytes {
    switch self {
    case .characters(let count, let alphabet):
      let characters = alphabet.characters
      let buffer = ByteBuffer(byteCount: count, isSecret: true)
      for position in 0..<count {
        buffer.store(characters[Self.random(below: characters.count)], at: position)
      }
      return buffer.secret(0..<count)
    case .words(let count): return Self.words(count)
    }
  }

  private static func words(_ count: Int) -> SecretBytes {
    let maximumByteCount = WordList.words.map(\.utf8.count).max() ?? 0
    let buffer = ByteBuffer(byteCount: count * (maximumByteCount + 1), isSecret: true)
    var end = 0
    for position in 0..<count {
      let word = Array(WordList.words[random(below: WordList.words.count)].utf8)
      if position > 0 {
        buffer.store(UInt8(ascii: "-"), at: end)
        end += 1
      }
      buffer.copy(word, to: end)
      end += word.count
    }
    return buffer.secret(0..<end)
  }

  /// Returns each number with the same probability, from the system's random number generator.
  private static func random(below count: Int) -> Int {
    var generator = SystemRandomNumberGenerator()
    // The standard library rejects the numbers that would make some more likely than others.
    return Int.random(in: 0..<count, using: &generator)
  }
}
