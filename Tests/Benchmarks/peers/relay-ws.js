// relay-ws -- a plain Node relay on the `ws` package (Debian: node-ws). See ../README.md for the dialect.
//
//   NODE_PATH=/usr/share/nodejs node relay-ws.js --port 0
'use strict'
const { WebSocketServer } = require('ws')

const port = Number(process.argv[process.argv.indexOf('--port') + 1])
const waiting = new Map() // the first member of a pair, until the second one joins

function join(socket, text) {
    const name = JSON.parse(text).join
    const other = waiting.get(name)
    socket.pair = name
    if (other) {
        waiting.delete(name)
        socket.peer = other
        other.peer = socket
    } else {
        waiting.set(name, socket)
    }
    socket.send('{"joined":true}')
}

function leave(socket) {
    if (socket.peer) {
        socket.peer.peer = undefined
        waiting.set(socket.pair, socket.peer)
    } else if (waiting.get(socket.pair) === socket) {
        waiting.delete(socket.pair)
    }
}

const server = new WebSocketServer({ host: '127.0.0.1', port, backlog: 4096, perMessageDeflate: false, clientTracking: false })
server.on('connection', (socket) => {
    socket.on('message', (data, isBinary) => {
        if (socket.pair === undefined) join(socket, data)
        else if (socket.peer) socket.peer.send(data, { binary: isBinary })
    })
    socket.on('close', () => leave(socket))
    socket.on('error', () => socket.terminate())
})
server.on('listening', () => console.log(`listening on http://127.0.0.1:${server.address().port}`))
