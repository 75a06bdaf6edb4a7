import Foundation

/// A directory of mode 0700 that is removed with its content when the test releases it.
public final class TemporaryDirectory: Sendable {
  /// The path of the directory.
  public let path: String

  /// Creates a directory in the usual place.
  public convenience init() throws {
    try self.init(in: NSTemporaryDirectory())
  }

  /// Creates a directory in another place.
  public init(in place: String) throws {
    var template = Array("\(place)/session-tools-XXXXXX".utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { buffer in
      unsafe buffer.baseAddress.flatMap { unsafe mkdtemp($0) }.map { unsafe String(cString: $0) }
    }
    guard let made else { throw CocoaError(.fileWriteUnknown) }
    // As the kernel reports it, so that paths can be compared.
    path = URL(filePath: made).resolvingSymlinksInPath().path
  }

  /// A path in the directory.
  public subscript(name: String) -> String { "\(path)/\(name)" }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}
