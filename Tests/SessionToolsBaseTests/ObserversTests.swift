import SessionToolsBase
import SessionToolsTestSupport
import Testing

@Suite struct `observers of a store` {
  let observers = Observers()

  private func event(_ number: Int) throws -> StoreEvent {
    .changed([try ItemName("\(number)", in: "service")])
  }

  @Test func `an observer gets all events in order`() async throws {
    var stream = observers.stream().makeAsyncIterator()
    for number in 0..<100 { observers.report(try event(number)) }
    for number in 0..<100 { #expect(await stream.next() == (try event(number))) }
  }

  @Test func `an observer of some names gets their events, and every resynchronize`() async throws {
    let names = try (0..<4).map { try ItemName("\($0)", in: "service") }
    var one = observers.stream(of: [names[1]]).makeAsyncIterator()
    var two = observers.stream(of: [names[1], names[2]]).makeAsyncIterator()
    let (gone, all) = (observers.stream(of: [names[2]]), observers.stream())
    var rest = all.makeAsyncIterator()
    _ = consume gone
    observers.report(.changed(Set(names)))
    observers.report(.changed([names[0], names[3]]))
    observers.report(.changed([names[2]]))
    observers.report(.resynchronize)
    #expect(await one.next() == .changed([names[1]]))
    #expect(await one.next() == .resynchronize)
    #expect(await two.next() == .changed([names[1], names[2]]))
    #expect(await two.next() == .changed([names[2]]))
    #expect(await two.next() == .resynchronize)
    #expect(await rest.next() == .changed(Set(names)))
    observers.finish()
    #expect(await one.next() == nil)
    #expect(observers.isEmpty)
  }

  @Test func `an observer that fell behind is told that events were missed`() async throws {
    let stream = observers.stream()
    for number in 0..<3000 { observers.report(try event(number)) }
    observers.finish()
    var heard: [StoreEvent] = []
    for await event in stream { heard.append(event) }
    #expect(heard.count <= 1024)
    #expect(heard.contains(.resynchronize))
    #expect(heard.last == .resynchronize, "it comes after the events that were missed")
  }

  @Test func `an observer that stopped listening is removed`() async throws {
    #expect(observers.isEmpty)
    var stream: AsyncStream<StoreEvent>? = observers.stream()
    #expect(!observers.isEmpty)
    _ = stream
    stream = nil
    #expect(observers.isEmpty)
    let observers = observers
    let task = Task { for await _ in observers.stream() {} }
    try await wait(until: "the task listens") { !observers.isEmpty }
    task.cancel()
    await task.value
    #expect(observers.isEmpty)
  }

  @Test func `an event concerns its names, and resynchronize concerns all`() throws {
    let name = try ItemName("1", in: "service")
    #expect(try event(1).concerns(name) && !event(2).concerns(name))
    #expect(StoreEvent.resynchronize.concerns(name))
  }
}
