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
