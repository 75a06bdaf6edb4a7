import Glibc

extension CurrentProcess {
  /// The path of the terminal that this process was started on; `nil` if none of its standard
  /// streams is a terminal.
  ///
  /// Not `/dev/tty`, which is another terminal, or none, for a program of another session.
  package static var terminalName: String? {
    for descriptor in [STDIN_FILENO, STDERR_FILENO, STDOUT_FILENO] {
      var name = [CChar](repeating: 0, count: 256)
      let error = unsafe ttyname_r(descriptor, &name, name.count)
      if error == 0 {
        return String(
          decoding: name.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
      }
    }
    return nil
  }
}
