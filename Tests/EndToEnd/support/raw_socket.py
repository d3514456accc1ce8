"""A WebSocket client that can send and receive any frame, also those that a library would not send or would hide."""

import base64
import os
import socket
import struct
import time

CONTINUATION, TEXT, BINARY, CLOSE, PING, PONG = 0x0, 0x1, 0x2, 0x8, 0x9, 0xA


class RawSocket:
    def __init__(
        self, port: int, token: str | None = None, *, path: str = "/ws", headers=(), receive_buffer: int | None = None,
        host: str | None = None,
    ):
        self.socket = socket.socket()
        if receive_buffer is not None:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(8)
        self.socket.connect(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        lines = [
            f"GET {path} HTTP/1.1",
            f"Host: {host or f'127.0.0.1:{port}'}",
            "Upgrade: websocket",
            "Connection: Upgrade",
            f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
            "Sec-WebSocket-Version: 13",
        ]
        if token is not None:
            lines.append(f"Authorization: Bearer {token}")
        self.socket.sendall(("\r\n".join([*lines, *headers]) + "\r\n\r\n").encode())
        self.buffer = b""
        while b"\r\n\r\n" not in self.buffer:
            more = self.socket.recv(4096)
            assert more, f"closed during the handshake: {self.buffer!r}"
            self.buffer += more
        head, self.buffer = self.buffer.split(b"\r\n\r\n", 1)
        self.status = int(head.split(b" ")[1])
        self.head = head.decode()

    def frame(self, opcode: int, payload: bytes = b"", *, fin: bool = True, length: int | None = None):
        """Sends one masked frame; `length` sets a length in its header that differs from the payload's."""
        self.socket.sendall(self._framed(opcode, payload, fin, length))

    def frames(self, frames: list[tuple[int, bytes]]):
        """Sends several frames in one packet, or in as few packets as they fit into."""
        self.socket.sendall(b"".join(self._framed(opcode, payload) for opcode, payload in frames))

    @staticmethod
    def _framed(opcode: int, payload: bytes, fin: bool = True, length: int | None = None) -> bytes:
        size = len(payload) if length is None else length
        first = bytes([(0x80 if fin else 0) | opcode])
        if size < 126:
            second = bytes([0x80 | size])
        elif size < 65536:
            second = bytes([0x80 | 126]) + struct.pack(">H", size)
        else:
            second = bytes([0x80 | 127]) + struct.pack(">Q", size)
        mask = os.urandom(4)
        key = (mask * (len(payload) // 4 + 1))[: len(payload)]
        masked = (int.from_bytes(payload, "big") ^ int.from_bytes(key, "big")).to_bytes(len(payload), "big")
        return first + second + mask + masked

    def _take(self, count: int) -> bytes:
        while len(self.buffer) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("ended")
            self.buffer += more
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def read(self) -> tuple[int, bytes]:
        """Reads the next frame; returns its opcode and payload."""
        first, second = self._take(2)
        size = second & 0x7F
        if size == 126:
            size = struct.unpack(">H", self._take(2))[0]
        elif size == 127:
            size = struct.unpack(">Q", self._take(8))[0]
        return first & 0x0F, self._take(size)

    def read_until(self, opcode: int, seconds: float = 8) -> bytes:
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            got, payload = self.read()
            if got == opcode:
                return payload
        raise AssertionError(f"no frame of kind {opcode} within {seconds} s")

    def close_code(self) -> int | None:
        """Reads to the end; returns the close code, or None if the connection ended without a close frame."""
        try:
            return struct.unpack(">H", self.read_until(CLOSE)[:2])[0]
        except (ConnectionError, ConnectionResetError):
            return None

    def close(self):
        self.socket.close()
