import ArgumentParser
import SessionToolsBase
import StoreMigration

/// An environment variable whose value is an item: `NAME=IDENTIFIER`.
struct ItemVariable {
  let name: String
  let identifier: String

  /// Reads the argument of `--env`.
  ///
  /// - Throws: `ValidationError` if there is no valid name of a variable before the first `=`.
  init(_ argument: String) throws {
    let name = String(argument.prefix { $0 != "=" })
    guard name.utf8.count < argument.utf8.count, Self.isName(name) else {
      throw ValidationError(
        "Write NAME=IDENTIFIER, with a name of letters, digits and _ that begins with no digit.")
    }
    self.name = name
    identifier = String(argument.dropFirst(name.count + 1))
  }

  /// Makes a variable that is named as its item; `nil` if variables cannot have that name, or if it
  /// would change how the command is run.
  init?(namedAs itemName: ItemName) {
    guard Self.isName(itemName.identifier), !ProgramVariables.contain(itemName.identifier) else {
      return nil
    }
    name = itemName.identifier
    identifier = itemName.identifier
  }

  /// Returns a name for the variable of an item: `API_KEY` for `api-key`; `nil` if nothing fits.
  static func suggestion(for itemName: ItemName) -> String? {
    let name = String(
      itemName.identifier.uppercased().unicodeScalars.map { scalar in
        isName("A\(scalar)") ? Character(scalar) : "_"
      })
    let suggestion = isName(name) ? name : "_" + name
    return name.contains { $0 != "_" } && !ProgramVariables.contain(suggestion) ? suggestion : nil
  }

  /// Whether shells accept the name of a variable (POSIX.1-2017, section 8.1, with small letters).
  private static func isName(_ name: String) -> Bool {
    guard let first = name.utf8.first, !isDigit(first) else { return false }
    return name.utf8.allSatisfy { byte in
      UInt8(ascii: "a")...UInt8(ascii: "z") ~= byte | 0x20 || isDigit(byte)
        || byte == UInt8(ascii: "_")
    }
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte
  }
}

/// A pattern for the identifiers of items that become variables: `*` is any text, `?` any
/// character.
struct NamePattern {
  private var selection = MigrationOptions.Selection()

  /// Reads the argument of `--all`.
  ///
  /// - Throws: `ValidationError` for a pattern of wildcards alone: with it, the names of the
  ///   variables are only up to those who store items.
  init(_ argument: String) throws {
    guard argument.contains(where: { !"*?".contains($0) }) else {
      throw ValidationError(
        "Write a part of the names, such as 'DEPLOY_*': everyone who may store items could set any "
          + "variable of the command.")
    }
    selection.identifierPattern = argument
  }

  /// Returns whether the whole identifier of an item matches.
  func matches(_ name: ItemName) -> Bool { selection.contains(name) }
}

/// The environment variables that are known to change which programs run, or which code or
/// settings they load.
///
/// An item is given to a program as data: one of these names is hardly meant for it, and would let
/// anyone who may store items run code. No such list is whole, because every program may have
/// variables of its own; so it only adds to the pattern that the person gives.
enum ProgramVariables {
  /// Of shells and of the search for programs (POSIX, bash(1)), of libraries (ld.so(8)), and of
  /// single programs.
  private static let names: Set<String> = [
    "HOME", "IFS", "ENV", "PS4", "TERM", "TERMINFO", "HOSTALIASES", "LOCALDOMAIN", "GLIBC_TUNABLES",
    "BROWSER", "VISUAL", "CLASSPATH", "DOCKER_HOST", "LESSOPEN", "LESSCLOSE", "CC", "CXX", "AR",
    "PGSERVICE", "PGHOST", "PGHOSTADDR", "PGOPTIONS", "PGSSLMODE", "LD", "AS", "CPP", "NM", "MAKE",
    "FC", "FCEDIT", "TMP", "TEMP", "PWD", "TZ", "LANG", "LANGUAGE", "DISPLAY", "XAUTHORITY",
    "SSH_AUTH_SOCK", "DBUS_SESSION_BUS_ADDRESS", "DBUS_SYSTEM_BUS_ADDRESS",
  ]
  private static let beginnings = [
    "LD_", "DYLD_", "BASH", "MALLOC_", "GIT_CONFIG", "GIT_SSH", "GIT_EXEC", "GIT_EXTERNAL",
    "GIT_TRACE", "PYTHON", "PERL", "RUBY", "LUA_", "DOTNET_", "COMPLUS_", "CORECLR_", "OPENSSL_",
    "XDG_", "LC_", "RES_", "RESOLV_", "PROMPT_", "NPM_CONFIG_", "BUNDLE_", "CARGO_BUILD_",
    "CARGO_TARGET_", "RUSTC", "LESSKEY", "R_PROFILE", "R_ENVIRON", "R_LIBS", "COR_",
  ]
  private static let ends = [
    "PATH", "DIR", "DIRS", "HOME", "FILE", "FILES", "CONFIG", "RC", "INIT", "STARTUP", "OPTIONS",
    "OPTION", "OPTS", "OPT", "FLAGS", "ARGS", "PRELOAD", "PLUGIN", "PLUGINS", "MODULE", "MODULES",
    "ENGINES", "AGENT", "HOOK", "HOOKS", "WRAPPER", "LAUNCHER", "RUNNER", "COMMAND", "CMD", "SHELL",
    "RSH", "SSH", "ASKPASS", "EDITOR", "PAGER", "VIEWER", "DIFF", "PROXY", "PREFIX",
    "MERGE", "EXE", "EXEC", "PROG", "INTERPRETER", "LINKER", "SCANNER", "SK_PROVIDER", "HELPER",
  ]

  /// Returns whether a name is one of them, in capitals or not.
  static func contain(_ name: String) -> Bool {
    let name = name.uppercased()
    return names.contains(name) || beginnings.contains(where: name.hasPrefix)
      || ends.contains(where: name.hasSuffix)
  }
}
