/// Something that a source has, and that is not among its items: no migration copies it.
public struct Omission: Hashable, Codable, Sendable {
  /// The name of what it belongs to, as the source's own program shows it.
  public let name: String
  /// Which part of that is left out, such as `attachment key.pdf`; `nil` for all of it.
  public let part: String?
  /// Why, and what to do about it: one sentence without its full stop.
  public let reason: String
  /// The service that its items have or would have; `nil` if it may belong to any.
  package let service: String?
  /// The identifier that its item would have; `nil` if that is its part.
  package let identifier: String?

  /// Describes something that a source leaves out.
  ///
  /// A name that is longer than any item's is shortened: a journal keeps a thousand of them in one
  /// value, and a source is free in its names.
  package init(
    _ name: String, part: String? = nil, reason: String, service: String? = nil,
    identifier: String? = nil
  ) {
    self.name = Self.shortened(name)
    self.part = part.map(Self.shortened)
    self.reason = reason
    self.service = service.map(Self.shortened)
    self.identifier = identifier.map(Self.shortened)
  }

  /// All of it in one line.
  package var text: String { "\(name)\(part.map { ", \($0)" } ?? ""): \(reason)" }

  private static func shortened(_ name: String) -> String {
    guard name.utf8.count > Name.maximumByteCount else { return name }
    // A character may be of any length, so that a number of characters would be no limit.
    return String(decoding: name.utf8.prefix(200), as: UTF8.self) + "…"
  }
}
