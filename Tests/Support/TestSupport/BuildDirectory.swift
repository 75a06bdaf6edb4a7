import Foundation

/// The products of the build that these tests belong to.
public enum BuildDirectory {
  /// The directory of the test program, which is that of all programs of the build.
  public static let path: String = {
    let program =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(filePath: program).deletingLastPathComponent().path
  }()

  /// Returns the path of another program of the build.
  public static func program(_ name: String) -> String { "\(path)/\(name)" }
}

/// The sources of this package.
public enum SourceDirectory {
  /// The root of the package.
  public static let path: String = URL(filePath: #filePath)
    .deletingLastPathComponent().appending(path: "../../..").standardizedFileURL.path
}
