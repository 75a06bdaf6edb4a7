import CSessionToolsLinux

/// The processor's vector registers, in which C's functions leave what they copied.
///
/// No later call clears them, and a new thread or the dynamic linker stores them on a stack, where
/// they stay as long as the thread: 1 of 300 processes that a password was given to had the end of
/// it there. So what copied a secret, or called what does, clears them.
package enum VectorRegisters {
  /// Which registers there are, asked for once.
  private static let level = session_tools_vector_level()

  /// Clears those that a called function may change.
  package static func clear() {
    session_tools_clear_vector_registers(level)
  }
}
