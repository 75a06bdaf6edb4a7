/// The environment variables that change which programs run, or which code they load.
///
/// An item is given to a program as data: one of these names is hardly meant for it, and would let
/// anyone who may store items run code.
enum ProgramVariables {
  /// Of shells and of the search for programs (POSIX, bash(1)), of libraries (ld.so(8), and those
  /// that glibc ignores in programs with more rights), of languages, and of programs that start
  /// others.
  private static let names: Set<String> = [
    "PATH", "HOME", "SHELL", "IFS", "ENV", "CDPATH", "PS4", "PROMPT_COMMAND", "SHELLOPTS",
    "GCONV_PATH", "GETCONF_DIR", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "NLSPATH", "NIS_PATH",
    "RES_OPTIONS", "RESOLV_HOST_CONF", "TMPDIR", "TZDIR", "GLIBC_TUNABLES", "OPENSSL_CONF",
    "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONINSPECT", "PERL5LIB",
    "PERLLIB", "PERL5OPT", "PERL5DB", "RUBYLIB", "RUBYOPT", "NODE_OPTIONS", "NODE_PATH",
    "JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS", "CLASSPATH", "LUA_PATH", "LUA_CPATH",
    "LUA_INIT", "EDITOR", "VISUAL", "PAGER", "BROWSER", "SSH_ASKPASS", "GIT_ASKPASS",
    "GIT_EDITOR", "GIT_EXEC_PATH", "GIT_EXTERNAL_DIFF", "GIT_PAGER", "GIT_PROXY_COMMAND",
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
  ]
  private static let prefixes = ["LD_", "BASH", "MALLOC_", "DYLD_"]

  /// Returns whether a name is one of them.
  static func contain(_ name: String) -> Bool {
    names.contains(name) || prefixes.contains(where: name.hasPrefix)
  }
}
