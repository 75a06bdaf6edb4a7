import Foundation
import SessionToolsHotPathLimit
import SealedStore
import SessionToolsBase

/// The work on an item before it is written and after it is read.
struct CodingPaths {
  let item: Item
  let byteCount: Int
  private let json: Data
  private let secret: SecretBytes
  private let name: ItemName
  private let coding = ItemCoding<Item>.json
  private let records: RecordsInMemory
  private let limit = LimitStore()

  init(byteCount: Int) throws {
    self.byteCount = byteCount
    item = try Item(byteCount: byteCount)
    json = try JSONEncoder().encode(item)
    secret = SecretBytes(json)
    name = try ItemName("item-0000000", in: "com.example.benchmark")
    records = try RecordsInMemory()
  }

  func all() throws -> [HotPath] {
    try coders() + propertyLists() + sealing() + [encodeAndSeal(), openAndDecode()]
  }

  /// Compares the library's coding with its limit, Foundation's own coder.
  private func coders() -> [HotPath] {
    let (encoder, decoder) = (JSONEncoder(), JSONDecoder())
    let (item, json, secret, name, coding) = (item, json, secret, name, coding)
    return [
      HotPath(name: "encode, reused coder", byteCount: byteCount) {
        consume(try coding.bytes(of: item, for: name, encoder: encoder))
      } limit: {
        consume(try encoder.encode(item))
      },
      HotPath(name: "encode, fresh coder", byteCount: byteCount) {
        consume(try coding.bytes(of: item, for: name, encoder: JSONEncoder()))
      } limit: {
        consume(try JSONEncoder().encode(item))
      },
      HotPath(name: "decode, reused coder", byteCount: byteCount) {
        consume(try coding.item(from: secret, for: name, decoder: decoder))
      } limit: {
        consume(try decoder.decode(Item.self, from: json))
      },
      HotPath(name: "decode, fresh coder", byteCount: byteCount) {
        consume(try coding.item(from: secret, for: name, decoder: JSONDecoder()))
      } limit: {
        consume(try JSONDecoder().decode(Item.self, from: json))
      },
    ]
  }

  /// Compares another of Foundation's coders with its JSON coder.
  private func propertyLists() throws -> [HotPath] {
    let encoder = PropertyListEncoder()
    encoder.outputFormat = .binary
    let (item, json) = (item, json)
    let list = try encoder.encode(item)
    return [
      HotPath(name: "binary property list, encode", byteCount: byteCount) {
        consume(try encoder.encode(item))
      } limit: {
        consume(try JSONEncoder().encode(item))
      },
      HotPath(name: "binary property list, decode", byteCount: byteCount) {
        consume(try PropertyListDecoder().decode(Item.self, from: list))
      } limit: {
        consume(try JSONDecoder().decode(Item.self, from: json))
      },
    ]
  }

  private func sealing() throws -> [HotPath] {
    let (secret, json, name, records, limit) = (secret, json, name, records, limit)
    let canonicalName = ByteBuffer(name.canonicalBytes)
    let ours = records.seal(secret, for: name)
    let theirs = limit.seal(json)
    guard ours.byteCount == theirs.byteCount else { throw Failure("the records differ in length") }
    return [
      HotPath(name: "seal", byteCount: byteCount) {
        consume(records.seal(secret, for: name))
      } limit: {
        consume(limit.seal(json))
      },
      HotPath(name: "open", byteCount: byteCount) {
        guard let value = records.open(ours, of: canonicalName) else {
          throw Failure("a record does not open")
        }
        consume(value)
      } limit: {
        consume(limit.open(theirs, valueByteCount: json.count))
      },
    ]
  }

  private func encodeAndSeal() -> HotPath {
    let (item, name, coding, records, limit) = (item, name, coding, records, limit)
    return HotPath(name: "encode and seal", byteCount: byteCount) {
      consume(
        records.seal(
          try coding.bytes(of: item, for: name, encoder: JSONEncoder()), for: name))
    } limit: {
      consume(limit.seal(try JSONEncoder().encode(item)))
    }
  }

  private func openAndDecode() -> HotPath {
    let (json, secret, name, coding, records, limit) = (json, secret, name, coding, records, limit)
    let canonicalName = ByteBuffer(name.canonicalBytes)
    let ours = records.seal(secret, for: name)
    let theirs = limit.seal(json)
    return HotPath(name: "open and decode", byteCount: byteCount) {
      guard let value = records.open(ours, of: canonicalName) else {
        throw Failure("a record does not open")
      }
      consume(try coding.item(from: value, for: name, decoder: JSONDecoder()))
    } limit: {
      let value = limit.open(theirs, valueByteCount: json.count)
      consume(try JSONDecoder().decode(Item.self, from: value))
    }
  }
}
