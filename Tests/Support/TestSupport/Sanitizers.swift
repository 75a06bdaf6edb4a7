import Foundation

/// Whether a sanitizer is active: it maps terabytes of its own, keeps freed memory, and ignores the
/// locking of memory.
package let isSanitized = isLoaded("tsan") || isLoaded("asan")

/// The compiler's options for a program that is linked with objects of this build.
package let sanitizerOptions: [String] = {
  let kinds = [("tsan", "thread"), ("asan", "address")].filter { isLoaded($0.0) }
  // lld, because gold floods the log.
  return kinds.flatMap { ["-sanitize=\($0.1)", "-use-ld=lld"] }
}()

private func isLoaded(_ runtime: String) -> Bool {
  unsafe dlsym(nil, "__\(runtime)_init") != nil
}
