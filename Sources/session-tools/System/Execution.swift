import CLinux
import Glibc
import SessionToolsBase
import ToolBase

/// Running another program in the place of this one.
extension System {
  /// Replaces this process by another program, found by `PATH`.
  ///
  /// The program has the arguments, the environment and the descriptors of this process that are
  /// not closed by themselves, the limit of no core dumps, and signals as this process got them.
  ///
  /// - Parameters:
  ///   - command: The program and its arguments; not empty.
  ///   - variables: Variables without bytes of zero, which replace those of the same names. They
  ///     are wiped here if the program cannot be run; the copy that the kernel makes is the
  ///     program's.
  /// - Returns: Why the program could not be run; on success, this does not return.
  static func execute(
    _ command: [String], variables: [(name: String, value: SecretBytes)]
  ) -> SystemCallError {
    let memory = ByteBuffer(
      byteCount: variables.reduce(0) { $0 + $1.name.utf8.count + $1.value.byteCount + 2 },
      isSecret: true)
    var environment = unsafe inheritedVariables(except: variables.map(\.name))
    var end = 0
    for (name, value) in variables {
      let start = end
      memory.copy("\(name)=", to: start)
      end += name.utf8.count + 1
      memory.copy(value, to: end)
      // The buffer is zero where nothing was copied.
      end += value.byteCount + 1
      unsafe environment.append(
        memory.pointer(to: start..<end).assumingMemoryBound(to: CChar.self))
    }
    unsafe environment.append(nil)
    var words = unsafe command.map { unsafe strdup($0) }
    defer { unsafe words.forEach { unsafe free($0) } }
    unsafe words.append(nil)
    ignoreSignalsAsAtStart()
    unsafe _ = execvpe(command[0], words, environment)
    let error = SystemCallError("execvpe", errno)
    withExtendedLifetime(memory) {}
    return error
  }

  /// Returns the variables of this process; bytes that are not UTF-8 stay as they are.
  private static func inheritedVariables(
    except names: [String]
  ) -> [UnsafeMutablePointer<CChar>?] {
    var variables = unsafe [UnsafeMutablePointer<CChar>?]()
    var next = unsafe session_tools_environment()
    while let variable = unsafe next?.pointee {
      let isReplaced = names.contains { name in
        let start = "\(name)="
        return unsafe strncmp(variable, start, start.utf8.count) == 0
      }
      if !isReplaced { unsafe variables.append(variable) }
      unsafe next = next?.advanced(by: 1)
    }
    return unsafe variables
  }
}
