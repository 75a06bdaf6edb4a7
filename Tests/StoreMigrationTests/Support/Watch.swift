import Synchronization

/// What a migration reported last, and whether it is to stop.
final class Watch: Sendable {
  let last = Atomic(-1)
  let isCancelled = Atomic(false)
}
