import CSessionToolsLinux
import Glibc
import SessionToolsBase

/// Running another program in the place of this one.
extension System {
  /// Replaces this process by another program, found by `PATH`.
  ///
  /// The program has the arguments, the environment and the descriptors of this process that are
  /// not closed by themselves, the limit of no core dumps, and signals as this process got them.
  ///
  /// - Parameters:
  ///   - command: The program and its arguments, without bytes of zero; not empty.
  ///   - variables: Variables without bytes of zero, which replace those of the same names. They
  ///     are wiped here if the program cannot be run; the copy that the kernel makes is the
  ///     program's.
  /// - Returns: Why the program could not be run; on success, this does not return.
  static func execute(
    _ command: [[UInt8]], variables: [(name: String, value: SecretBytes)]
  ) -> SystemCallError {
    let memory = ByteBuffer(
      byteCount: variables.reduce(0) { $0 + $1.name.utf8.count + $1.value.byteCount + 2 },
      isSecret: true)
    var environment = unsafe InheritedVariables.all(except: variables.map(\.name))
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
    var words = unsafe command.map { word in
      unsafe strdup(word.map(CChar.init(bitPattern:)) + [0])
    }
    defer { unsafe words.forEach { unsafe free($0) } }
    unsafe words.append(nil)
    ignoreSignalsAsAtStart()
    unsafe _ = execvpe(words[0], words, environment)
    let error = SystemCallError("execvpe", errno)
    withExtendedLifetime(memory) {}
    return error
  }
}
