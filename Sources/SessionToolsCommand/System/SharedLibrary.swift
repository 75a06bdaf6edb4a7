import Foundation
import SessionToolsLazyLibraries
import SessionToolsBase

/// A shared library that is loaded when it is needed, and may not be installed.
enum SharedLibrary {
  /// The desktop's message bus, which libsecret brings along.
  case gio
  case secret
  case pam
  case fido2
  case pq
  case gcrypt

  private var library: session_tools_library {
    switch self {
    case .gio: session_tools_library_gio
    case .secret: session_tools_library_secret
    case .pam: session_tools_library_pam
    case .fido2: session_tools_library_fido2
    case .pq: session_tools_library_pq
    case .gcrypt: session_tools_library_gcrypt
    }
  }

  /// Debian's package.
  private var package: String {
    unsafe String(cString: session_tools_package_of_library(library))
  }

  /// How to install the library.
  var remedy: String { "sudo apt-get install \(package)" }

  /// Why the library cannot be loaded; `nil` if it is loaded now.
  var problem: String? {
    unsafe session_tools_load_library(library).map { unsafe String(cString: $0) }
  }

  /// The version of the library, as its file's name has it; `nil` if it is not loaded.
  var version: String? {
    unsafe session_tools_path_of_library(library).flatMap { path in
      let name = URL(filePath: unsafe String(cString: path)).resolvingSymlinksInPath().path
      return name.ranges(of: ".so.").last.map { String(name[$0.upperBound...]) }
    }
  }

  /// Checks that the library can be used.
  ///
  /// - Throws: `unavailable` if it cannot be loaded, or the tasks that wait for it cannot run.
  func check() throws(StoreError) {
    try TaskThreads.check()
    guard let problem else { return }
    throw StoreError(
      .unavailable, store: package, reason: "the library cannot be loaded: \(problem)",
      remedy: "Install it, on Debian with: \(remedy)")
  }
}
