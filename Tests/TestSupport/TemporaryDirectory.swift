import Foundation

/// A directory of mode 0700 that is removed with its content when the test lets go of it.
public final class TemporaryDirectory: Sendable {
  /// Where it is.
  public let path: String

  /// Makes one where such directories are made.
  public convenience init() throws {
    try self.init(in: NSTemporaryDirectory())
  }

  /// Makes one in another place.
  public init(in place: String) throws {
    var template = Array("\(place)/session-tools-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe buffer.baseAddress.flatMap { unsafe mkdtemp($0) }.map { unsafe String(cString: $0) }
    }
    guard let made else { throw CocoaError(.fileWriteUnknown) }
    // As the kernel tells it, for those who compare.
    path = URL(filePath: made).resolvingSymlinksInPath().path
  }

  /// A path in it.
  public subscript(name: String) -> String { "\(path)/\(name)" }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}
