import LazyLibraries
package import SessionToolsBase

/// A shared library that is loaded when it is needed, and may not be installed.
package enum SharedLibrary {
  /// The desktop's message bus, which libsecret brings along.
  case gio
  case secret
  case pam

  private var library: session_tools_library {
    switch self {
    case .gio: session_tools_library_gio
    case .secret: session_tools_library_secret
    case .pam: session_tools_library_pam
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

  /// Checks that the library can be used.
  ///
  /// - Throws: `unavailable` if it cannot be loaded.
  package func check() throws(StoreError) {
    guard let problem else { return }
    throw StoreError(
      .unavailable, store: package, reason: "the library cannot be loaded: \(problem)",
      remedy: "Install it, on Debian with: \(remedy)")
  }
}
