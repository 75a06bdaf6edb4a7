import Foundation
import TestSupport

/// A program that an article shows, compiled as its readers would compile it: it sees only the
/// public API.
///
/// It is linked with the objects of this build, because building the libraries again would take
/// minutes. The program is removed with this object.
final class ArticleProgram: Sendable {
  struct DoesNotBuild: Error {
    let output: String
  }

  /// The libraries that are linked; this is also the name of each one's directory of objects.
  private static let libraries: Set = [
    "DBus", "LinuxAuthentication", "SealedStore", "SecretServiceStore", "SessionAuthentication",
    "SessionTools", "SessionToolsBase", "WebLogin",
  ]

  private let directory: TemporaryDirectory

  /// The path of the program.
  var path: String { directory["program"] }

  /// Compiles and links a program of one file.
  ///
  /// - Throws: `DoesNotBuild`, also for a warning.
  init(_ text: String) throws {
    directory = try TemporaryDirectory()
    try text.write(toFile: directory["main.swift"], atomically: false, encoding: .utf8)
    let compiler = try ReadmeTests.run(
      ["swiftc", "-o", directory["program"]] + Self.compilerOptions() + sanitizerOptions
        + [directory["main.swift"]] + Self.objects()
        + Self.flags("--libs-only-l", of: "libsodium", "libcurl", "libsecret-1", "gio-2.0", "pam"))
    guard compiler.status == 0 else { throw DoesNotBuild(output: compiler.output) }
  }

  /// Returns the compiler's options for a program that imports modules of this build.
  static func compilerOptions() throws -> [String] {
    let modules = ["CCurl", "CGIO", "CLinux", "CPAM", "CSecret", "CSodium"].map {
      "\(SourceDirectory.path)/Sources/\($0)"
    }
    return try ["-swift-version", "6", "-warnings-as-errors"]
      + (["\(BuildDirectory.path)/Modules"] + modules).flatMap { ["-I", $0] }
      + flags("--cflags-only-I", of: "libsecret-1").flatMap { ["-Xcc", $0] }
  }

  /// Returns the objects of the libraries, from the list with which the tool was linked: their
  /// directories may still have objects of sources that were removed.
  private static func objects() throws -> [String] {
    let list = "\(BuildDirectory.path)/session-tools.product/Objects.LinkFileList"
    let objects = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
      .map(String.init)
      .filter { object in
        let directory = URL(filePath: object).deletingLastPathComponent()
        return libraries.contains(directory.deletingPathExtension().lastPathComponent)
      }
    guard !objects.isEmpty else { throw DoesNotBuild(output: "\(list) has no objects") }
    return objects
  }

  private static func flags(_ option: String, of packages: String...) throws -> [String] {
    let flags = try ReadmeTests.run(["pkg-config", option] + packages)
    guard flags.status == 0 else { throw DoesNotBuild(output: flags.output) }
    return flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
  }
}
