import CPAM
import Foundation

/// Makes PAM modules use the language LANGUAGE, with the message catalogs in the directory TEXTS.
func useTranslations() {
  guard let directory = ProcessInfo.processInfo.environment["TEXTS"] else { return }
  guard unsafe setlocale(LC_ALL, "") != nil,
    unsafe bindtextdomain("Linux-PAM", directory) != nil
  else { fail("no translations") }
}
