import Foundation

/// A directory of mode 0700 that is removed with its content when the test releases it.
public final class TemporaryDirectory: Sendable {
  /// The path of the directory.
  public let path: String

  /// The usual place: `/tmp` if the path in `TMPDIR` has characters that systemd's units, shells or
  /// `LD_PRELOAD` reserve, such as spaces.
  public static let place: String = {
    let path = NSTemporaryDirectory()
    let isPlain = path.allSatisfy {
      $0.isASCII && ($0.isLetter || $0.isNumber || "/._-".contains($0))
    }
    return isPlain ? path : "/tmp"
  }()

  /// Creates a directory in the usual place.
  public convenience init() throws {
    try self.init(in: Self.place)
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

  /// Creates a directory that all users can read, whatever `TMPDIR` is: that may be in a directory
  /// of one user.
  public static func readableByAll() throws -> TemporaryDirectory {
    let directory = try TemporaryDirectory(in: "/tmp")
    try FileManager.default.setAttributes(
      [.posixPermissions: 0o755], ofItemAtPath: directory.path)
    return directory
  }

  /// Writes a file that all users can read, if they can read the directory.
  public func write(_ text: String, to name: String) throws {
    try Data(text.utf8).write(to: URL(filePath: self[name]))
    try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: self[name])
  }

  /// A path in the directory.
  public subscript(name: String) -> String { "\(path)/\(name)" }

  deinit {
    try? FileManager.default.removeItem(atPath: path)
  }
}
