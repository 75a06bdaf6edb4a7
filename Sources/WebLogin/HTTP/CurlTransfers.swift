import CSessionToolsCurl
import Foundation
import SessionToolsBase
import Synchronization
import OAuthLogin

/// The requests of this process, which libcurl sends on one thread.
///
/// The thread runs while there are requests to send. Requests beyond ``maximumConcurrentCount``
/// wait, and use only their own memory.
@safe final class CurlTransfers: Sendable {
  static let shared = CurlTransfers()

  /// The number of requests that are sent at the same time.
  static let maximumConcurrentCount = 64

  private struct State {
    var new: [CurlTransfer] = []
    var cancelled: [CurlTransfer] = []
    var isRunning = false
  }

  /// Unchecked, because libcurl allows other threads one call, `curl_multi_wakeup`.
  @safe private struct Multi: @unchecked Sendable {
    let handle: UnsafeMutableRawPointer?
  }

  private let state = Mutex(State())
  private let multi: Multi

  private init() {
    // Thread-safe if Foundation has called it before, and since libcurl 7.84 in any case.
    curl_global_init(Int(CURL_GLOBAL_DEFAULT))
    unsafe multi = Multi(handle: curl_multi_init())
  }

  /// Sends a request.
  ///
  /// - Returns: The answer, or the error in its place.
  func send(_ transfer: CurlTransfer) async -> Result<OAuthHTTPResponse, OAuthHTTPError> {
    await withTaskCancellationHandler {
      start(transfer)
      return await transfer.answer.value(whenCancelled: .failure(Self.cancelled))
    } onCancel: {
      // This comes first, so that a waiting request is never sent.
      transfer.answer.give(.failure(Self.cancelled))
      state.withLock { if $0.isRunning { $0.cancelled.append(transfer) } }
      wake()
    }
  }

  private static let cancelled = OAuthHTTPError(
    .cancelled, reason: "the request was cancelled")

  private func start(_ transfer: CurlTransfer) {
    let wasRunning = state.withLock { state in
      state.new.append(transfer)
      defer { state.isRunning = true }
      return state.isRunning
    }
    guard !wasRunning else { return wake() }
    let thread = Thread { self.run() }
    thread.name = "session-http"
    thread.start()
  }

  private func wake() {
    unsafe _ = curl_multi_wakeup(multi.handle)
  }

  // MARK: - The thread

  private func run() {
    Self.leaveSignalsToOthers()
    var waiting: [CurlTransfer] = []
    // By the addresses of their handles.
    var active: [UInt: CurlTransfer] = [:]
    while takeRequests(into: &waiting, &active) {
      begin(&waiting, &active)
      if waiting.isEmpty, active.isEmpty { continue }
      var count: Int32 = 0
      unsafe _ = curl_multi_perform(multi.handle, &count)
      if end(&active) { continue }
      unsafe _ = curl_multi_poll(multi.handle, nil, 0, pause(before: waiting), nil)
    }
  }

  /// Blocks all signals on this thread: a broken connection raises SIGPIPE.
  private static func leaveSignalsToOthers() {
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_BLOCK, &all, nil)
  }

  /// Takes the new and the cancelled requests; returns `false` when the thread must end.
  private func takeRequests(
    into waiting: inout [CurlTransfer],
    _ active: inout [UInt: CurlTransfer]
  ) -> Bool {
    let cancelled = state.withLock { state in
      waiting += state.new
      state.new = []
      defer { state.cancelled = [] }
      return state.cancelled
    }
    // A cancelled request that is still waiting is skipped when its turn comes.
    for transfer in cancelled {
      guard let handle = unsafe transfer.handle else { continue }
      unsafe curl_multi_remove_handle(multi.handle, handle)
      active[UInt(bitPattern: handle)] = nil
    }
    guard waiting.isEmpty, active.isEmpty else { return true }
    return state.withLock { state in
      state.isRunning = !state.new.isEmpty
      return state.isRunning
    }
  }

  /// Begins to send waiting requests up to the limit, in their order of arrival.
  private func begin(
    _ waiting: inout [CurlTransfer],
    _ active: inout [UInt: CurlTransfer]
  ) {
    let now = ContinuousClock.now
    waiting.removeAll { transfer in
      guard transfer.deadline <= now else { return transfer.answer.isGiven }
      transfer.expire()
      return true
    }
    while let next = waiting.first, active.count < Self.maximumConcurrentCount {
      waiting.removeFirst()
      do throws(OAuthHTTPError) {
        try next.prepare()
        guard let handle = unsafe next.handle,
          unsafe curl_multi_add_handle(multi.handle, handle) == CURLM_OK
        else {
          throw OAuthHTTPError(
            .noResponse, wasSent: false, reason: "libcurl did not accept the request")
        }
        active[UInt(bitPattern: handle)] = next
      } catch {
        next.answer.give(.failure(error))
      }
    }
  }

  /// Delivers the answers that are complete; returns whether there were any.
  private func end(_ active: inout [UInt: CurlTransfer]) -> Bool {
    var code = CURLE_OK
    var hasEnded = false
    while let handle = unsafe session_tools_curl_ended(multi.handle, &code) {
      hasEnded = true
      unsafe curl_multi_remove_handle(multi.handle, handle)
      active.removeValue(forKey: UInt(bitPattern: handle))?.end(with: code)
    }
    return hasEnded
  }

  /// Returns how long to wait for libcurl or another thread, in milliseconds.
  private func pause(before waiting: [CurlTransfer]) -> Int32 {
    let left = waiting.map(\.deadline).min().map { $0 - .now } ?? .seconds(60)
    return Int32(clamping: Int64((max(.zero, left) / .milliseconds(1)).rounded(.up)))
  }
}
