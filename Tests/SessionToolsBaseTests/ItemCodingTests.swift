import Foundation
import SessionToolsBase
import Testing

private struct Tokens: Codable, Equatable {
  struct Token: Codable, Equatable {
    var value: Int
    var expiry: Date?
  }
  var tokens: [Token]
  var labels: [String: Int] = [:]
}

@Suite struct `item coding` {
  let name: ItemName
  private let tokens = Tokens(tokens: [.init(value: 1), .init(value: 2)], labels: ["a": 1])

  init() throws {
    name = try ItemName("tokens", in: "service")
  }

  private func decode<Item>(
    _ text: String, as coding: ItemCoding<Item>
  ) throws -> Item where Item: Codable {
    try coding.item(from: SecretBytes(utf8: text), for: name, decoder: JSONDecoder())
  }

  @Test func `an item comes back from every coding`() throws {
    let custom = ItemCoding<Tokens>(
      encode: { SecretBytes(Array("\($0.tokens.map(\.value))".utf8)) },
      decode: { bytes in
        let text = String(decoding: bytes.copyBytes(), as: UTF8.self)
        #expect(text == "[1, 2]")
        return Tokens(tokens: [.init(value: 1), .init(value: 2)], labels: ["a": 1])
      })
    for coding in [ItemCoding<Tokens>.json, .propertyList, custom] {
      let bytes = try coding.bytes(of: tokens, for: name, encoder: JSONEncoder())
      #expect(try coding.item(from: bytes, for: name, decoder: JSONDecoder()) == tokens)
    }
  }

  @Test func `JSON is coded by the coders that are passed, and property lists are binary`() throws {
    let encoder = JSONEncoder()
    encoder.dateEncodingStrategy = .secondsSince1970
    encoder.outputFormatting = .sortedKeys
    let item = Tokens(tokens: [.init(value: 1, expiry: Date(timeIntervalSince1970: 5))])
    let json = try ItemCoding<Tokens>.json.bytes(of: item, for: name, encoder: encoder)
    let text = #"{"labels":{},"tokens":[{"expiry":5,"value":1}]}"#
    #expect(json == SecretBytes(utf8: text))
    let decoder = JSONDecoder()
    decoder.dateDecodingStrategy = .secondsSince1970
    #expect(try ItemCoding<Tokens>.json.item(from: json, for: name, decoder: decoder) == item)
    let list = try ItemCoding<Tokens>.propertyList.bytes(of: item, for: name, encoder: encoder)
    #expect(list.copyBytes().starts(with: Array("bplist".utf8)))
  }

  @Test(arguments: [
    (#"{"tokens":[{"value":1},{"value":"hunter2"}]}"#, "expected Int", "tokens[1].value"),
    (#"{"tokens":[{"value":null}],"labels":{}}"#, "no Int", "tokens[0].value"),
    (#"{"tokens":[{}],"labels":{}}"#, "no value", "tokens[0].value"),
    (#"{"tokens":[],"labels":{"hunter2":"x"}}"#, "expected Int", "labels.*"),
    (#"["hunter2"]"#, "expected", "the top level"),
    ("hunter2", "malformed", "the top level"),
    ("", "malformed", "the top level"),
  ])
  func `a decoding error has the type and place, and nothing of the content`(
    text: String, what: String, place: String
  ) throws {
    let error = try #require(
      expectFailure(StoreError.undecodable) { try decode(text, as: ItemCoding<Tokens>.json) })
    #expect(error.reason.contains("Tokens"))
    #expect(error.reason.contains(what) && error.reason.hasSuffix(" at \(place)"))
    #expect(!error.description.contains("hunter2"))
    #expect(error.description.contains("tokens of service"))
    #expect(error.underlying is DecodingError)
  }

  /// A type's own keys may be of its content.
  @Test func `a key that the source code does not spell is not shown`() throws {
    struct Ratings: Codable {
      enum Key: CodingKey {
        case person(String)
        case all

        var stringValue: String { if case .person(let name) = self { name } else { "all" } }
        var intValue: Int? { nil }
        init?(stringValue: String) { self = .person(stringValue) }
        init?(intValue: Int) { return nil }
      }

      init(from decoder: any Decoder) throws {
        let all = try decoder.container(keyedBy: Key.self).nestedContainer(
          keyedBy: Key.self, forKey: .all)
        for key in all.allKeys { _ = try all.decode(Int.self, forKey: key) }
      }

      func encode(to encoder: any Encoder) throws {}
    }
    let error = try #require(
      expectFailure(StoreError.undecodable) {
        try decode(#"{"all":{"hunter2":"x"}}"#, as: ItemCoding<Ratings>.json)
      })
    #expect(error.reason.contains("at all.*") && !error.description.contains("hunter2"))
  }

  @Test func `an item that cannot be encoded is a typed error with the place`() throws {
    struct Ratio: Codable { var part: [Double] }
    let error = try #require(
      expectFailure(StoreError.unencodable) {
        try ItemCoding<Ratio>.json.bytes(
          of: Ratio(part: [1, .infinity]), for: name, encoder: JSONEncoder())
      })
    #expect(error.reason.contains("Ratio") && error.reason.contains("part[1]"))
    #expect(error.underlying is EncodingError)
    // A property list cannot hold a bare value.
    expectFailure(StoreError.unencodable) {
      try ItemCoding<Int>.propertyList.bytes(of: 1, for: name, encoder: JSONEncoder())
    }
  }

  @Test func `an error of a custom coding is undecodable, a StoreError is unchanged`() throws {
    let own = ItemCoding<Int>(
      encode: { _ in throw TestError() }, decode: { _ in throw TestError(text: "hunter2") })
    let error = try #require(
      expectFailure(StoreError.undecodable) { try decode("1", as: own) })
    #expect(error.underlying as? TestError == TestError(text: "hunter2"))
    #expect(!error.description.contains("hunter2"))
    expectFailure(StoreError.unencodable) {
      try own.bytes(of: 1, for: name, encoder: JSONEncoder())
    }
    let corrupt = ItemCoding<Int>(
      encode: { _ in throw StoreError(.valueTooLarge, store: "s", reason: "r") },
      decode: { _ in throw StoreError(.corrupt, store: "s", reason: "r") })
    expectFailure(StoreError.corrupt) { try decode("1", as: corrupt) }
    expectFailure(StoreError.valueTooLarge) {
      try corrupt.bytes(of: 1, for: name, encoder: JSONEncoder())
    }
  }
}
