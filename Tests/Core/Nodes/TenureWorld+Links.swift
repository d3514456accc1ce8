import CallCore
import CallPorts

@testable import Nodes

/// The links between the nodes of the world.
extension TenureWorld {
    mutating func connected(_ id: NodeID, _ attempt: Int, _ expecting: NodeID, _ address: Int) {
        guard let client = index(id), nodes[client].attempt == attempt else { return }
        guard address != client else { return plan(.input(id, .linkFailed), after: 1) }
        guard !isCut(client, address) else { return }
        guard nodes[address].isAlive, nodes[address].id == expecting else {
            plan(.input(id, .linkRefused), after: delay())
            return
        }
        guard !isPaused(address) else { return }
        give(.heardOf(nodes[client].tenure.newestEpoch), to: address)
        guard let epoch = nodes[address].tenure.ownEpoch else {
            plan(.input(id, .linkFailed), after: delay())
            return
        }
        guard !isPaused(client), nodes[client].tenure.connecting != nil else { return }
        order += 1
        let watch = LinkWatch(at: moment)
        links[order] = Link(
            client: id,
            server: expecting,
            attempt: attempt,
            clientWatch: watch,
            serverWatch: watch
        )
        let number = order
        nodes[client].link = number
        give(.linkOpened(epoch), to: client)
        plan(.attached(id, link: number), after: delay())
    }

    /// Ends a link at one side; the other learns of it unless the way is cut.
    mutating func endLink(_ number: Int, by id: NodeID) {
        guard let link = links.removeValue(forKey: number) else { return }
        let other = link.client == id ? link.server : link.client
        for node in nodes.indices where nodes[node].link == number { nodes[node].link = nil }
        guard let from = nodes.firstIndex(where: { $0.id == id }), let to = index(other) else { return }
        let isCut = isCut(from, to)
        let ending: Action =
            if link.client == other {
                .fromLink(other, attempt: link.attempt, .linkLost(isCut ? .silent : .closed))
            } else { .input(other, .nodeDetached(id)) }
        // Without the end of the connection, the other side notices the silence.
        plan(ending, after: isCut ? NodeLimits.linkSilence.milliseconds : delay())
    }

    mutating func endLinks(of node: Int) {
        let id = nodes[node].id
        for (number, link) in links.sorted(by: { $0.key < $1.key }) where link.client == id || link.server == id {
            endLink(number, by: id)
        }
    }

    mutating func watchLinks() {
        for (number, link) in links.sorted(by: { $0.key < $1.key }) {
            guard let client = index(link.client), let server = index(link.server) else { continue }
            guard !isPaused(client), !isPaused(server), !isCut(client, server) else {
                checkSilence(number, link, client, server)
                continue
            }
            let now = moment
            links[number]?.clientWatch.heard(at: now)
            links[number]?.serverWatch.heard(at: now)
        }
    }

    mutating func checkSilence(_ number: Int, _ link: Link, _ client: Int, _ server: Int) {
        var (clientWatch, serverWatch) = (link.clientWatch, link.serverWatch)
        if !isPaused(client), clientWatch.check(at: moment) == .dead {
            nodes[client].link = nil
            links[number] = nil
            give(.linkLost(.silent), to: client)
            plan(.input(link.server, .nodeDetached(link.client)), after: delay())
        } else if !isPaused(server), serverWatch.check(at: moment) == .dead {
            endLink(number, by: link.server)
        }
    }
}
