import CGTK
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
let list = """
  &lt;b&gt;Ada Lovelace&lt;/b&gt;\nNotes on the engine\n\n&lt;b&gt;Grace Hopper&lt;/b&gt;\nA moth in the relay\n
  &lt;b&gt;Alan Turing&lt;/b&gt;\nCan machines think?\n\n&lt;b&gt;Barbara Liskov&lt;/b&gt;\nSubstitution
  """
let message = """
  &lt;b&gt;Ada Lovelace&lt;/b&gt;\n\nThe engine weaves algebraic patterns, just as the loom weaves flowers \
  and leaves.\n\nKeep this to yourself.
  """
let windows = try [
  MailWindow("inbox", "Inbox", list, mail),
  MailWindow("message", "Notes on the engine", message, mail),
]
@Sendable func show() async {
  switch await mail.session.currentState() {
  case .signedIn: onGTKThread { windows.forEach { $0.show(isSignedIn: true) } }
  case .signedOut: onGTKThread { windows.forEach { $0.show(isSignedIn: false) } }
  case .unavailable: break  // locked: it is unknown who is signed in
  }
}
// The main thread belongs to GTK.
Task.detached { for await _ in mail.session.states { await show() } }
Task.detached { for await _ in mail.gate.states { await show() } }
while windows.contains(where: \.isOpen) { g_main_context_iteration(nil, 1) }
