import CPAM
import Foundation

/// Lets modules speak as the environment says: LANGUAGE, by the texts in the directory TEXTS.
func useTranslations() {
  guard let directory = ProcessInfo.processInfo.environment["TEXTS"] else { return }
  guard unsafe setlocale(LC_ALL, "") != nil,
    unsafe bindtextdomain("Linux-PAM", directory) != nil
  else { fail("no translations") }
}
