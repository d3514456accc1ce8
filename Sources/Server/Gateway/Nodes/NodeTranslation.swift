import CallCore
import CallPorts
import Cluster
import LibWebSockets

extension EdgeRequestHead {
    init(_ head: RequestHead) {
        self.init(
            method: head.method,
            path: head.path,
            query: head.query.map { Field($0.name, $0.value) },
            authorization: head.authorization,
            origin: head.origin,
            host: head.host,
            contentType: head.contentType,
            protocols: head.protocols,
            isTLS: head.isTLS,
            clientNetwork: ClientNetwork(high: head.clientNetwork.high, low: head.clientNetwork.low)
        )
    }
}

extension RequestHead {
    init(_ head: EdgeRequestHead) {
        self.init(
            method: head.method,
            path: head.path,
            query: head.query.map { ($0.name, $0.value) },
            authorization: head.authorization,
            origin: head.origin,
            host: head.host,
            contentType: head.contentType,
            protocols: head.protocols,
            isTLS: head.isTLS
        )
        clientNetwork = ClientNetwork(high: head.clientNetwork.high, low: head.clientNetwork.low)
    }
}

extension EdgeResponse {
    init(_ response: HTTPResponse) {
        self.init(
            status: UInt16(clamping: response.status),
            contentType: response.contentType,
            headers: response.headers.map { .init($0.name, $0.value) },
            body: response.body,
            problem: response.problem.map { .init(code: $0.code, message: $0.message) }
        )
    }
}

extension HTTPResponse {
    init(_ response: EdgeResponse) {
        self.init(
            status: Int(response.status),
            contentType: response.contentType,
            headers: response.headers.map { .init($0.name, $0.value) },
            body: response.body
        )
        problem = response.problem.map { .init(code: $0.code, message: $0.message) }
    }
}
