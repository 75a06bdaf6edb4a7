public import SecretStores
package import Foundation

/// How an item becomes the bytes of a store, and back.
///
/// Only the buffer made by this package is wiped after use. Foundation's coders, and the item
/// itself, keep copies of their own that are not wiped.
public struct ItemCoding<Item>: Sendable {
  fileprivate enum Form {
    case json
    case propertyList
    case custom(
      encode: @Sendable (Item) throws -> SecretBytes,
      decode: @Sendable (SecretBytes) throws -> Item)
  }

  fileprivate let form: Form

  /// JSON, using the coders that the session or the caller passes; the default.
  public static var json: ItemCoding { ItemCoding(form: .json) }

  /// A binary property list: smaller than JSON where items hold `Data`.
  ///
  /// The JSON coders passed by callers are not used.
  public static var propertyList: ItemCoding { ItemCoding(form: .propertyList) }

  private init(form: Form) {
    self.form = form
  }

  /// Makes a coding of your own.
  ///
  /// - Parameters:
  ///   - encode: Returns the bytes of an item. Its errors are thrown as `StoreError.unencodable`; a
  ///     `StoreError` is passed through.
  ///   - decode: Returns the item of the bytes. Its errors are thrown as `StoreError.undecodable`;
  ///     a `StoreError` is passed through.
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
    of item: Item, for name: ItemName, encoder: JSONEncoder
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
      throw CodingFailure(error, of: Item.self).asEncoding(of: name)
    }
  }

  /// Decodes an item.
  ///
  /// - Throws: `undecodable` with the decoder's error in `underlying`.
  package func item(
    from bytes: SecretBytes, for name: ItemName, decoder: JSONDecoder
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
      throw CodingFailure(error, of: Item.self).asDecoding(of: name)
    }
  }

  /// Moves the encoder's output to a buffer that is wiped after use, and wipes the output itself.
  private static func take(_ output: inout Data) -> SecretBytes {
    let bytes = SecretBytes(output)
    output.resetBytes(in: output.startIndex..<output.endIndex)
    return bytes
  }
}
