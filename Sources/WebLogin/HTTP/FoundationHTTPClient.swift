import Foundation
import FoundationNetworking
import SessionToolsBase
import Synchronization

/// The HTTP client of FoundationNetworking, with nothing kept: no cookies, no cache, no credentials,
/// no redirects followed, no connection used twice.
public struct FoundationHTTPClient: HTTPClient {
  /// How long a request may take in all.
  public let timeout: Duration
  /// The largest answer that is read.
  public let largestByteCount: Int

  /// Makes a client; opens nothing.
  ///
  /// - Parameters:
  ///   - timeout: How long a request may take in all; 30 s.
  ///   - largestByteCount: The largest answer that is read; 1 MiB.
  public init(timeout: Duration = .seconds(30), largestByteCount: Int = 1 << 20) {
    self.timeout = timeout
    self.largestByteCount = largestByteCount
  }

  /// Sends one request, over a connection of its own.
  ///
  /// libcurl sends a request again by itself when a connection that it kept turns out to be closed; a
  /// refresh token would be spent twice.
  ///
  /// - Throws: `URLError`; `timedOut` after ``timeout``, `dataLengthExceedsMaximum` for a larger
  ///   answer, `cancelled` when the task is cancelled.
  public func send(_ request: HTTPRequest) async throws -> HTTPResponse {
    let exchange = Exchange(largestByteCount: largestByteCount)
    let session = URLSession(
      configuration: Self.configuration(timeout), delegate: exchange, delegateQueue: nil)
    // It keeps its delegate, and its threads, until it is told.
    defer { exchange.cancel(session) }
    var message = URLRequest(url: request.url)
    message.httpMethod = request.method
    message.httpBody = request.body
    for (name, value) in request.headers { message.setValue(value, forHTTPHeaderField: name) }
    let task = session.dataTask(with: message)
    let timer = SystemSessionClock().after(timeout) {
      exchange.answer.give(.failure(URLError(.timedOut)))
    }
    defer { timer.cancel() }
    task.resume()
    return try await exchange.answer.value(whenCancelled: .failure(URLError(.cancelled))).get()
  }

  private static func configuration(_ timeout: Duration) -> URLSessionConfiguration {
    let configuration = URLSessionConfiguration.ephemeral
    configuration.urlCache = nil
    configuration.urlCredentialStorage = nil
    configuration.httpCookieStorage = nil
    configuration.httpShouldSetCookies = false
    configuration.httpCookieAcceptPolicy = .never
    configuration.requestCachePolicy = .reloadIgnoringLocalCacheData
    // Longer than the timer above: it counts whole seconds, and takes less than one for none.
    configuration.timeoutIntervalForRequest = (timeout / .seconds(1)).rounded(.up) + 1
    return configuration
  }
}

/// One request and its answer, which ends once.
private final class Exchange: NSObject, URLSessionDataDelegate, Sendable {
  let answer = FirstAnswer<Result<HTTPResponse, any Error>>()
  private let largestByteCount: Int
  private let body = Mutex(Data())
  /// Foundation ends the process when a redirect is answered after its task was cancelled: the one
  /// excludes the other.
  private let isCancelled = Mutex(false)

  init(largestByteCount: Int) {
    self.largestByteCount = largestByteCount
  }

  /// Ends all that is left of it.
  func cancel(_ session: URLSession) {
    isCancelled.withLock { isCancelled in
      isCancelled = true
      session.invalidateAndCancel()
    }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask,
    willPerformHTTPRedirection response: HTTPURLResponse, newRequest request: URLRequest,
    completionHandler: @escaping (URLRequest?) -> Void
  ) {
    isCancelled.withLock { isCancelled in
      if !isCancelled { completionHandler(nil) }
    }
  }

  func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
    let isTooLarge = body.withLock { body in
      body.append(data)
      return body.count > largestByteCount
    }
    if isTooLarge { answer.give(.failure(URLError(.dataLengthExceedsMaximum))) }
  }

  func urlSession(
    _ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?
  ) {
    if let error { return answer.give(.failure(error)) }
    guard let response = task.response as? HTTPURLResponse else {
      return answer.give(.failure(URLError(.badServerResponse)))
    }
    let headers = response.allHeaderFields.map { ("\($0)", "\($1)") }
    answer.give(
      .success(
        HTTPResponse(
          status: response.statusCode, headers: Dictionary(headers) { first, _ in first },
          body: body.withLock(\.self))))
  }
}
