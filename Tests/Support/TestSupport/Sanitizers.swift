import Foundation

/// Whether a sanitizer is active: it maps terabytes of its own, keeps freed memory, and ignores the
/// locking of memory.
package let isSanitized =
  unsafe dlsym(nil, "__tsan_init") != nil || dlsym(nil, "__asan_init") != nil
