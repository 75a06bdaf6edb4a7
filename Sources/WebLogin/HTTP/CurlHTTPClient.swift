/// The HTTP client of libcurl, with nothing kept: no cookies, no cache, no credentials, no redirects
/// followed, no connection used twice.
///
/// All clients of a process share one thread, on which up to 64 requests are sent at the same time;
/// others wait, which counts for their timeout. Proxies are taken from the environment, as by `curl`,
/// but for plain `http`, which is for this machine alone.
public struct CurlHTTPClient: HTTPClient {
  /// How long a request may take in all.
  public let timeout: Duration
  /// The largest body that is read, in bytes.
  public let largestByteCount: Int

  /// Makes a client; opens nothing.
  ///
  /// - Parameters:
  ///   - timeout: How long a request may take in all; 30 s. What is longer than a year is a year.
  ///   - largestByteCount: The largest body that is read; 256 KiB. Not more than this and 64 KiB of
  ///     header fields is ever in memory; what is decoded of it may take a hundred times as much.
  public init(timeout: Duration = .seconds(30), largestByteCount: Int = 1 << 18) {
    self.timeout = timeout
    self.largestByteCount = largestByteCount
  }

  /// Sends one request, over a connection of its own.
  ///
  /// - Throws: `timedOut` after ``timeout``, `tooLarge` as soon as the server says or sends more,
  ///   `noAnswer` when the server is out of reach or the connection breaks, `cancelled` at once when
  ///   the task is cancelled.
  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    // Where libcurl counts in milliseconds.
    let longest = Duration.seconds(365 * 86_400)
    let transfer = CurlTransfer(
      request, deadline: .now + min(timeout, longest), largestByteCount: largestByteCount)
    return try await CurlTransfers.shared.send(transfer).get()
  }
}
