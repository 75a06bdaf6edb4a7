import CLinux
import Glibc

/// The environment of this process, for the programs that it starts.
package enum InheritedVariables {
  /// Returns the variables of this process with bytes that are not UTF-8 as they are: all, or only
  /// some, and none of those to leave out.
  ///
  /// They belong to the process, and must not be freed.
  package static func all(
    only kept: [String]? = nil, except names: some Collection<String>
  ) -> [UnsafeMutablePointer<CChar>?] {
    var variables = unsafe [UnsafeMutablePointer<CChar>?]()
    var next = unsafe session_tools_environment()
    while let variable = unsafe next?.pointee {
      func isNamed(_ name: String) -> Bool {
        let start = "\(name)="
        return unsafe strncmp(variable, start, start.utf8.count) == 0
      }
      if kept?.contains(where: isNamed) != false, !names.contains(where: isNamed) {
        unsafe variables.append(variable)
      }
      unsafe next = next?.advanced(by: 1)
    }
    return unsafe variables
  }
}
