internal import CLibwebsockets

/// Replaces the library's function of the same name, also for the library's own calls (they go through the PLT).
///
/// The library keeps its timers in a list sorted by time, and searches for a new timer's place from the beginning, past
/// all timers that are due earlier. Most timers are set with the same delay, so the search covers the whole list. With
/// thousands of unauthenticated connections, the searches took a quarter of the event loop's time. A search from the
/// end takes a step or two.
///
/// If a future library is linked so that its calls do not reach this function, inserting is slow again and nothing else
/// changes.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(__lws_sul_insert)
public func clwsInsertTimer(_ list: UnsafeMutableRawPointer?, _ timer: UnsafeMutableRawPointer?) -> Int32 {
    guard let list = list?.assumingMemoryBound(to: lws_dll2_owner_t.self),
        // Both structures begin with their list links.
        let timer = timer?.assumingMemoryBound(to: lws_sorted_usec_list_t.self)
    else { return 1 }
    let place = UnsafeMutableRawPointer(timer).assumingMemoryBound(to: lws_dll2.self)
    lws_dll2_remove(place)
    var next: UnsafeMutablePointer<lws_dll2>?
    var previous = list.pointee.tail
    while let candidate = previous,
        UnsafeMutableRawPointer(candidate).assumingMemoryBound(to: lws_sorted_usec_list_t.self).pointee.us
            > timer.pointee.us
    {
        next = candidate
        previous = candidate.pointee.prev
    }
    if let next { lws_dll2_add_before(place, next) } else { lws_dll2_add_tail(place, list) }
    return 0
}
