import Foundation

/// Whether a sanitizer runs along: it maps terabytes of its own, keeps what was freed, and makes
/// nothing of locking memory.
package let isSanitized =
  unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
