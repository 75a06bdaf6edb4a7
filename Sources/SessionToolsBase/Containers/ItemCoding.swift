package import Foundation

/// How an item becomes the bytes of a store, and back.
///
/// What is wiped after use is the buffer this package made. Foundation's coders, and the item
/// itself, keep copies of their own that nobody wipes.
public struct ItemCoding<Item>: Sendable {
  fileprivate enum Form {
    case json
    case propertyList
    case custom(
      encode: @Sendable (Item) throws -> SecretBytes,
      decode: @Sendable (SecretBytes) throws -> Item)
  }

  fileprivate let form: Form

  /// JSON, by the coders that the session or the caller passes; the default.
  public static var json: ItemCoding { ItemCoding(form: .json) }

  /// A binary property list: smaller than JSON where items hold `Data`.
  ///
  /// The JSON coders that are passed are not used.
  public static var propertyList: ItemCoding { ItemCoding(form: .propertyList) }

  private init(form: Form) {
    self.form = form
  }

  /// A coding of your own.
  ///
  /// - Parameters:
  ///   - encode: Gives the bytes of an item. What it throws arrives as
  ///     `StoreError.unencodable`; a `StoreError` of its own arrives as it is.
  ///   - decode: Gives the item of the bytes. What it throws arrives as
  ///     `StoreError.undecodable`; a `StoreError` of its own arrives as it is.
  public init(
    encode: @escaping @Sendable (Item) throws -> SecretBytes,
    decode: @escaping @Sendable (SecretBytes) throws -> Item
  ) {
    form = .custom(encode: encode, decode: decode)
  }
}

extension ItemCoding where Item: Codable {
  /// Encodes an item.
  ///
  /// - Throws: `unencodable` with the encoder's error in `underlying`.
  package func bytes(
    of item: Item, for key: StoreKey, encoder: JSONEncoder
  ) throws(StoreError) -> SecretBytes {
    do {
      switch form {
      case .json:
        var output = try encoder.encode(item)
        return Self.take(&output)
      case .propertyList:
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        var output = try encoder.encode(item)
        return Self.take(&output)
      case .custom(let encode, _):
        return try encode(item)
      }
    } catch {
      throw CodingFailure(error, of: Item.self).asEncoding(of: key)
    }
  }

  /// Decodes an item.
  ///
  /// - Throws: `undecodable` with the decoder's error in `underlying`.
  package func item(
    from bytes: SecretBytes, for key: StoreKey, decoder: JSONDecoder
  ) throws(StoreError) -> Item {
    do {
      switch form {
      case .json:
        return try decoder.decode(Item.self, from: bytes.sharedData)
      case .propertyList:
        return try PropertyListDecoder().decode(Item.self, from: bytes.sharedData)
      case .custom(_, let decode):
        return try decode(bytes)
      }
    } catch {
      throw CodingFailure(error, of: Item.self).asDecoding(of: key)
    }
  }

  /// The encoder's output in a buffer that is wiped, and the output itself wiped now.
  private static func take(_ output: inout Data) -> SecretBytes {
    let bytes = SecretBytes(output)
    output.resetBytes(in: output.startIndex..<output.endIndex)
    return bytes
  }
}
