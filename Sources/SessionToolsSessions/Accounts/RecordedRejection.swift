import SecretStores
public import Foundation

/// That the server permanently rejected an account's item, as it is recorded in the store.
///
/// Sessions of other processes, and of later ones, have it as the cause of
/// `SessionState.signedOut(.rejected(_:))`; the session that was refreshed has the refresh
/// handler's own error while its process runs. The record holds no secret and no part of the item.
/// It is removed when a user signs in to the account, signs out, or the account is removed.
public struct RecordedRejection: Error, Hashable, Sendable {
  /// Why the server rejected the item, in at most 1,000 characters, as in a ``SessionEvent``.
  ///
  /// The text of an error of this package; of another error, which may quote a secret, its type.
  public let reason: String
  /// When it was rejected, by the clock of the process that refreshed the item.
  public let date: Date

  private static let maximumCharacterCount = 1000

  init(_ error: any Error, at date: Date) {
    reason = String(SessionEvent.reason(error).prefix(Self.maximumCharacterCount))
    self.date = date
  }
}

extension RecordedRejection: SecretFreeError {
  /// The reason.
  public var description: String { reason }
}

/// The record is JSON: the `reason`, and the `date` in seconds since 1970.
extension RecordedRejection {
  private struct Form: Codable {
    let reason: String
    let date: Double
  }

  func bytes(for name: ItemName) throws(StoreError) -> SecretBytes {
    do {
      let form = Form(reason: reason, date: date.timeIntervalSince1970)
      return SecretBytes(try JSONEncoder().encode(form))
    } catch {
      throw CodingFailure(error, of: Self.self).asEncoding(of: name)
    }
  }

  /// Reads a record.
  ///
  /// - Throws: `undecodable`.
  init(from bytes: SecretBytes, for name: ItemName) throws(StoreError) {
    do {
      let form = try JSONDecoder().decode(Form.self, from: bytes.sharedData)
      reason = form.reason
      date = Date(timeIntervalSince1970: form.date)
    } catch {
      throw CodingFailure(error, of: Self.self).asDecoding(of: name)
    }
  }

  /// Returns whether it may be the record of an error.
  func isOf(_ error: any Error) -> Bool {
    reason == String(SessionEvent.reason(error).prefix(Self.maximumCharacterCount))
  }
}
