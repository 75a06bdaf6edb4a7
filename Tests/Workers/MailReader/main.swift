#if GTKScenes
import CSessionToolsGTK
import Foundation
import SessionAuthentication
import SessionToolsBase
import WebLogin

// A small mail reader's shell: two windows behind one gate, and a login in the browser.
// The argument is the address of an authorization server.

unsafe g_set_prgname("mail-reader")
unsafe g_set_application_name("Mail")
guard gtk_init_check() != 0, let issuer = CommandLine.arguments.dropFirst().first else {
  print("Start this on a desktop, with the address of an authorization server")
  exit(1)
}
let mail = try Mail(issuer: issuer)
let names = ["Ada Lovelace", "Grace Hopper", "Alan Turing", "Barbara Liskov"].map(bold)
let subjects = [
  "Notes on the engine", "A moth in the relay", "Can machines think?", "Substitution",
]
let list = zip(names, subjects).map { "\($0)\n\($1)\n\n" }.joined()
let message = names[0] + "\n\nThe engine weaves algebraic patterns.\n\nKeep this to yourself."
let windows = try [
  MailWindow("inbox", "Inbox", list, mail),
  MailWindow("message", "Notes", message, mail),
]
func bold(_ text: String) -> String { "&lt;b&gt;\(text)&lt;/b&gt;" }  // markup within XML
// One reader, whatever the occasion: of two, the one with the older answer could show it last.
let (occasions, occasion) = AsyncStream.makeStream(
  of: Void.self, bufferingPolicy: .bufferingNewest(1))
// The main thread belongs to GTK.
Task.detached { for await _ in mail.session.states { occasion.yield() } }
Task.detached { for await _ in mail.gate.states { occasion.yield() } }
Task.detached {
  for await _ in occasions {
    switch await mail.session.currentState() {
    case .signedIn: onGTKThread { windows.forEach { $0.show(isSignedIn: true) } }
    case .signedOut: onGTKThread { windows.forEach { $0.show(isSignedIn: false) } }
    case .unavailable: break  // locked: it is unknown who is signed in
    }
  }
}
while windows.contains(where: \.isOpen) { g_main_context_iteration(nil, 1) }
#endif
