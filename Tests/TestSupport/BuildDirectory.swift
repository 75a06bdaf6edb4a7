import Foundation

/// Where the build that these tests belong to has put its products.
public enum BuildDirectory {
  /// The directory of the test program, which is that of all programs of the build.
  public static let path: String = {
    let program =
      (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    return URL(filePath: program).deletingLastPathComponent().path
  }()

  /// The path of another program of the build.
  public static func program(_ name: String) -> String { "\(path)/\(name)" }
}

/// Where the sources of this package are.
public enum SourceDirectory {
  /// The root of the package.
  public static let path: String = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent().path
}
