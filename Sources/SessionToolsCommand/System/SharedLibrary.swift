import Foundation
import SessionToolsLazyLibraries
package import SessionToolsBase

/// A shared library that is loaded when it is needed, and may not be installed.
package enum SharedLibrary {
  /// The desktop's message bus, which libsecret brings along.
  case gio
  case secret
  case pam
  case fido2

  private var library: session_tools_library {
    switch self {
    case .gio: session_tools_library_gio
    case .secret: session_tools_library_secret
    case .pam: session_tools_library_pam
    case .fido2: session_tools_library_fido2
    }
  }

  /// Debian's package.
  private var package: String {
    unsafe String(cString: session_tools_package_of_library(library))
  }

  /// How to install the library.
  package var remedy: String { "sudo apt-get install \(package)" }

  /// Why the library cannot be loaded; `nil` if it is loaded now.
  package var problem: String? {
    unsafe session_tools_load_library(library).map { unsafe String(cString: $0) }
  }

  /// The version of the library, as its file's name has it; `nil` if it is not loaded.
  package var version: String? {
    unsafe session_tools_path_of_library(library).flatMap { path in
      let name = URL(filePath: unsafe String(cString: path)).resolvingSymlinksInPath().path
      return name.ranges(of: ".so.").last.map { String(name[$0.upperBound...]) }
    }
  }

  /// Checks that the library can be used.
  ///
  /// - Throws: `unavailable` if it cannot be loaded, or the tasks that wait for it cannot run.
  package func check() throws(StoreError) {
    try TaskThreads.check()
    guard let problem else { return }
    throw StoreError(
      .unavailable, store: package, reason: "the library cannot be loaded: \(problem)",
      remedy: "Install it, on Debian with: \(remedy)")
  }
}
