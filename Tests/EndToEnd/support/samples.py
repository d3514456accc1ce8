"""Session descriptions and ICE candidates for the tests, from Tests/Samples."""

import json
import pathlib

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "Samples"


def sdp(name: str) -> str:
    return (FOLDER / f"{name}.sdp").read_bytes().decode()


OFFER = sdp("chrome-offer-audio")
VIDEO_OFFER = sdp("chrome-offer-audio-video")
VIDEO_REJECTED_OFFER = sdp("chrome-offer-video-rejected")
FIREFOX_OFFER = sdp("firefox-offer-audio-video")
ANSWER = sdp("chrome-answer-audio")
VIDEO_ANSWER = sdp("chrome-answer-audio-video")
CANDIDATES = json.loads((FOLDER / "candidates.json").read_text())


def candidate(number: int) -> dict:
    """Returns a candidate that differs from that of every other number."""
    return {
        "candidate": f"candidate:{number} 1 udp 2122260223 192.0.2.{number % 250 + 1} {20000 + number} typ host",
        "sdpMid": "0",
        "sdpMLineIndex": 0,
    }


def changed(description: str, mark: str) -> str:
    """Returns the description with one more attribute: a new offer or answer, as after an ICE restart."""
    return description + f"a=x-mark:{mark}\r\n"


def padded(description: str, size: int) -> str:
    """Returns the description, filled up to `size` bytes with attribute lines."""
    line = "a=x-padding:" + "0123456789abcdef" * 5 + "\r\n"
    missing = size - len(description.encode())
    count, rest = divmod(missing, len(line))
    text = description + line * count
    if rest:
        text = text[:-2] + "f" * rest + "\r\n"
    assert len(text.encode()) == size
    return text
