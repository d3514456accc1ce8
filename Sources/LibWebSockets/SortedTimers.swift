internal import CLibwebsockets

/// Stands in front of the library's function of the same name, its own calls included (they go through the PLT).
///
/// The library keeps its timers in a list sorted by time and looks for each one's place from the beginning, past all that fall due
/// before it. Most are set for the same time from now, so that is the whole list: with thousands of connections that have not said
/// who they are, a quarter of the loop's time. From the end it is a step or two. Should a library one day be linked so that its
/// calls do not come here, that is slow again and nothing else changes.
///
/// Public because only then is its symbol visible to the library in an optimized build.
@c(__lws_sul_insert)
public func clwsInsertTimer(_ list: UnsafeMutableRawPointer?, _ timer: UnsafeMutableRawPointer?) -> Int32 {
    guard let list = list?.assumingMemoryBound(to: lws_dll2_owner_t.self),
        // Both begin with their place in the list.
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
