#if GTKScenes
import CSessionToolsGTK
import Foundation
import GTKScenes
import LinuxAuthentication
import SealedStore
import SessionAuthentication
import SessionToolsBase

// A program with windows of one color each, which a test controls by lines. The argument is a
// directory for its store.

let arguments = CommandLine.arguments
if arguments.contains("no-display") {
  // No window can exist; any pointer stands for one.
  let gate = AuthenticationGate { _ in PermanentToken() }
  do {
    try unsafe GatedWindow(ColorWindow.anyPointer, as: "main", behind: gate)
  } catch {
    print("refused \(error.code): \(error)")
  }
  exit(0)
}

unsafe g_set_prgname("colors")
unsafe g_set_application_name("Colors")
guard gtk_init_check() != 0 else {
  print("GTK has no display")
  exit(1)
}
try Worker(storePath: arguments[1]).run()
#endif
