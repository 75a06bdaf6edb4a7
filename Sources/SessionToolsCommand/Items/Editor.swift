import Foundation
import Glibc
import SessionToolsBase

/// The person's editor, which changes a value that is never in a file on a disk.
///
/// The value is in a file in memory (memfd_create(2)). The editor inherits it as its descriptor 3
/// and opens it as `/proc/self/fd/3`, a name that only this one process has for it. An editor that
/// hands its work to another process therefore fails to open it, and changes nothing.
struct Editor {
  private static let path = "/proc/self/fd/3"

  /// The editor and its arguments, for a shell.
  let command: String

  /// The editor of `$VISUAL` or `$EDITOR`; `vi` if neither is set, as for other programs.
  static var ofEnvironment: Editor {
    let environment = ProcessInfo.processInfo.environment
    let given = ["VISUAL", "EDITOR"].compactMap { environment[$0] }.first { !$0.isEmpty }
    return Editor(command: given ?? "vi")
  }

  /// Runs the editor on a value.
  ///
  /// - Parameters:
  ///   - value: The value.
  ///   - maximumByteCount: The largest size of the new value.
  /// - Returns: The value as the editor left it.
  /// - Throws: A failure if the editor did not end with status 0, `valueTooLarge` or `io`.
  func edit(_ value: SecretBytes, atMost maximumByteCount: Int) throws -> SecretBytes {
    let status: Int32?
    let edited: SecretBytes?
    do throws(SystemCallError) {
      let file = try MemoryFile(value)
      status = try run(on: file)
      edited = try file.content(atMost: maximumByteCount)
    } catch {
      throw StoreError(error, path: "the editor")
    }
    guard status == 0 else {
      throw Failure(
        .failure,
        "the editor '\(command)' ended with status \(status.map(String.init) ?? "unknown"); "
          + "nothing was changed")
    }
    guard let edited else {
      throw StoreError(
        .valueTooLarge, store: "the editor",
        reason: "the value has more than \(maximumByteCount) bytes; nothing was changed",
        remedy: "Store it in parts, or store the key of a file that you encrypt yourself")
    }
    // Editors add a newline to a last line that had none.
    return value.endsWithNewline ? edited : edited.withoutNewline
  }

  private func run(on file: MemoryFile) throws(SystemCallError) -> Int32? {
    // Ctrl-C at the terminal is for the editor.
    let handlers = [SIGINT, SIGQUIT].map { ($0, signal($0, SIG_IGN)) }
    defer { for (number, handler) in handlers { _ = signal(number, handler) } }
    // A shell splits the variable into words, as other programs have it done.
    let line = "\(command) \(Self.options(for: Self.program(of: command))) \"$@\""
    let editor = try StartedProgram(
      "/bin/sh", ["-c", line, "editor", Self.path],
      streams: StartedProgram.Streams(
        input: STDIN_FILENO, output: STDOUT_FILENO, errors: STDERR_FILENO,
        shared: file.descriptor),
      place: .foreground)
    return editor.wait()
  }

  /// Returns the options, in a shell's form, that keep an editor from writing copies of the text.
  ///
  /// Vim writes a swap file and may keep backups, an undo file and registers (`:help -n`,
  /// `'backup'`, `'undofile'`, `-i`). Nano can be configured to keep backups and lock files, so its
  /// configuration is not read (nano(1), `-I`). Emacs keeps backups and saves by itself.
  private static func options(for program: String) -> String {
    switch program {
    case _ where program.hasPrefix("vim") || program == "nvim":
      "-n -i NONE -c 'set nobackup nowritebackup' -c 'silent! set noundofile'"
    case _ where program == "nano": "-I"
    case _ where program.hasPrefix("emacs") && !program.hasPrefix("emacsclient"):
      "--eval '(setq make-backup-files nil auto-save-default nil create-lockfiles nil)'"
    default: ""
    }
  }

  /// Returns the name of the program that a command starts, behind links such as `vi` and `editor`,
  /// and behind `env`, `nice` and variables.
  private static func program(of command: String) -> String {
    let word =
      command.split(whereSeparator: \.isWhitespace).map(String.init)
      .first { !["env", "nice"].contains($0) && !$0.contains("=") } ?? ""
    return URL(filePath: Files.program(word) ?? word).resolvingSymlinksInPath().lastPathComponent
  }
}
