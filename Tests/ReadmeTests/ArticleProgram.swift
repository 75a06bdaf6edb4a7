import Foundation
import SessionToolsTestSupport

/// A program that an article shows, compiled as its readers would compile it: it sees only the
/// public API.
///
/// It is linked with the objects of this build, because building the libraries again would take
/// minutes. The program is removed with this object.
final class ArticleProgram: Sendable {
  struct DoesNotBuild: Error {
    let output: String
  }

  /// The libraries that are linked, each with the program of this build that has its objects; a
  /// library's name is also that of its directory of objects.
  private static let libraries = [
    "SessionToolsDBus": "session-tools", "LinuxAuthentication": "session-tools",
    "SealedStore": "session-tools", "SecretServiceStore": "session-tools",
    "SecretStores": "session-tools", "SessionToolsSessions": "session-tools",
    "SessionAuthentication": "session-tools", "SessionTools": "session-tools",
    "SessionToolsBase": "session-tools", "OAuthLogin": "session-tools",
    "WebLogin": "session-tools",
    "DatabaseStore": "session-tools",
  ]

  private let directory: TemporaryDirectory

  /// The path of the program.
  var path: String { directory["program"] }

  /// Compiles and links a program of one file.
  ///
  /// - Parameters:
  ///   - text: The program.
  ///   - options: More options of the compiler.
  /// - Throws: `DoesNotBuild`, also for a warning.
  init(_ text: String, options: [String] = []) throws {
    directory = try TemporaryDirectory()
    try text.write(toFile: directory["main.swift"], atomically: false, encoding: .utf8)
    let compiler = try ReadmeTests.run(
      ["swiftc", "-o", directory["program"]] + options + Self.compilerOptions() + sanitizerOptions
        + [directory["main.swift"]] + Self.objects()
        + Self.flags(
          "--libs-only-l", of: "libsodium", "libcurl", "libsecret-1", "gio-2.0", "pam", "libpq"))
    guard compiler.status == 0 else { throw DoesNotBuild(output: compiler.output) }
  }

  /// Returns the compiler's options for a program that imports modules of this build.
  static func compilerOptions() throws -> [String] {
    let modules = [
      "CSessionToolsCurl", "CSessionToolsGIO", "CSessionToolsLinux", "CSessionToolsPAM",
      "CSessionToolsPQ", "CSessionToolsSecret", "CSessionToolsSodium",
    ].map {
      "\(SourceDirectory.path)/Sources/\($0)"
    }
    return try ["-swift-version", "6", "-warnings-as-errors"]
      + (["\(BuildDirectory.path)/Modules"] + modules).flatMap { ["-I", $0] }
      + flags("--cflags-only-I", of: "glib-2.0", "libpq").flatMap { ["-Xcc", $0] }
  }

  /// Returns the objects of the libraries, from the lists with which the programs were linked:
  /// their directories may still have objects of sources that were removed.
  private static func objects() throws -> [String] {
    try Set(libraries.values).sorted().flatMap { program in
      let list = "\(BuildDirectory.path)/\(program).product/Objects.LinkFileList"
      let objects = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n")
        .map(String.init)
        .filter { object in
          let directory = URL(filePath: object).deletingLastPathComponent()
          return libraries[directory.deletingPathExtension().lastPathComponent] == program
        }
      guard !objects.isEmpty else { throw DoesNotBuild(output: "\(list) has no objects") }
      return objects
    }
  }

  private static func flags(_ option: String, of packages: String...) throws -> [String] {
    let flags = try ReadmeTests.run(["pkg-config", option] + packages)
    guard flags.status == 0 else { throw DoesNotBuild(output: flags.output) }
    return flags.output.split(whereSeparator: \.isWhitespace).map(String.init)
  }
}
