"""`ringline explain` reports why a call rang or did not ring, for every course that a call can take.

With RINGLINE_EXPLAIN_DOC=FILE the outputs are written to that file; the page in the documentation is copied from such a
run. Every other run checks that the page still has the verdicts that the binary prints.
"""

import fcntl
import os
import pathlib
import pty
import re
import signal
import sqlite3
import struct
import subprocess
import termios
import threading
import time
from contextlib import closing

import samples
from commands import one_clear_line, run, wait_for
from postgres_server import ON_CLUSTER, ON_POSTGRES, sqlite_only
from push_services import pushed, register, token
from raw_socket import RawSocket
from ringline_server import ROOT, binary, clean_environment
from waiting import eventually
from wall_clock import WallClock

PAGE = ROOT / "Sources/Server/ringline/ringline.docc/Explaining.md"


def verdict(text: str) -> str:
    """Returns the verdict in an explanation, without its times and numbers of tries."""
    said = text[text.index("Verdict:") :].split("\n```")[0].rstrip()
    return re.sub(r"[0-9]+\.[0-9]{2}( s)?|[0-9T:-]{19}\.[0-9]{3}Z| \(try [0-9]+\)", "#", said).replace("##", "#")


def explain(world, call_id: str, title: str) -> str:
    """Runs `explain` and compares its verdict with the one on the page under this title; returns the output.

    Over PostgreSQL the last line, about the owner of the database, is checked and left out. Of several nodes, one has taken
    over the call of a server that was restarted.
    """
    command = [str(binary()), "explain", call_id, *world.server.store_options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
    assert run.returncode == 0, run.stderr
    text = run.stdout
    if ON_POSTGRES:
        text, _, owner = text.removesuffix("\n").rpartition("\n")
        assert re.match("(The database is owned by|No server owns the database: the last one, on) ", owner), owner
    if ON_CLUSTER:
        taken_over = r"The call was taken over by the node 127\.0\.0\.1:\d+; it"
        text = re.sub(taken_over, "The server was restarted in between; the call", text)
    document = os.environ.get("RINGLINE_EXPLAIN_DOC")
    if document:
        with pathlib.Path(document).open("a") as page:
            page.write(f"## {title}\n\n```\n$ ringline explain {call_id} --data ./data\n{text}```\n\n")
    else:
        shown = PAGE.read_text()
        assert f"## {title}\n" in shown, "the page has no such heading"
        assert verdict(shown[shown.index(f"## {title}\n") :]) == verdict(text), "the page shows another verdict"
    for secret in ("v=0", "192.0.2.", "candidate:", "a=ice"):
        assert secret not in run.stdout
    return text


def until(world, call_id: str, *words: str, title: str, seconds=8) -> str:
    """Waits until the explanation contains all these words, compares it with the page, and returns it."""
    wait_for(world, call_id, *words, seconds=seconds)
    return explain(world, call_id, title)


def test_a_call_that_rang_by_socket(push_world):
    world, _ = push_world
    taro, hanako = world.connect("11", "iphone-t", claims={"name": "Taro"}), world.connect("10", "iphone-h")
    taro.ring(hanako, "c-1")
    hanako.expect(type="offer")
    hanako.ask(type="ringing", callId="c-1")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.ask(type="connected", callId="c-1")
    taro.ask(type="end", callId="c-1")
    text = until(world, "c-1", "ended: hangup", title="Rang by socket, answered")
    assert "10 answered on iphone-h" in text and "rang over its connection" in text


def test_a_call_that_rang_by_push(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    taro = world.connect("11", "iphone-t", claims={"name": "Taro"})
    taro.ring("10", "c-1")
    pushed(fake, device)
    hanako = world.connect("10", "iphone-h")
    hanako.expect(type="offer")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    taro.expect(type="answer")
    taro.ask(type="end", callId="c-1")
    text = until(world, "c-1", "ended: hangup", "push", title="Rang by push")
    assert "10's iPhone iphone-h was pushed at" in text and "it came back at" in text


def test_a_device_that_never_came_back_after_its_push(short_rings):
    world, fake = short_rings
    register(world, deviceId="iphone-h")
    world.connect("11", "iphone-t").ring("10", "c-1")
    text = until(world, "c-1", "ended: unanswered", title="Pushed, accepted, and never heard of again")
    assert "the device never came back" in text and "Nobody answered within 1.00 s" in text


def test_no_device_to_ring(short_rings):
    world, _ = short_rings
    world.connect("11", "iphone-t").ring("10", "c-1")
    text = until(world, "c-1", "ended: unanswered", title="No device")
    assert "no device registered for pushes: nothing could ring" in text


def test_a_push_refused_by_its_topic(short_rings):
    world, fake = short_rings
    fake.script(token(1), [{"status": 400, "reason": "DeviceTokenNotForTopic"}])
    register(world, deviceId="iphone-h")
    world.connect("11", "iphone-t").ring("10", "c-1")
    text = until(world, "c-1", "ended: unanswered", title="Push refused: the topic")
    assert "400 DeviceTokenNotForTopic: the token belongs to another app" in text
    kept = world.rest("10").get("/api/me/devices").json()[0]["voipDeviceToken"]
    assert kept == token(1), "the server is at fault, so the token is kept"


def test_a_push_refused_by_its_token(short_rings):
    world, fake = short_rings
    fake.script(token(1), [{"status": 410, "reason": "Unregistered", "timestamp": int(time.time() * 1000) + 60_000}])
    register(world, deviceId="iphone-h")
    world.connect("11", "iphone-t").ring("10", "c-1")
    text = until(world, "c-1", "ended: unanswered", title="Push refused: the token")
    assert "410 Unregistered" in text
    assert world.rest("10").get("/api/me/devices").json() == [], "a dead token is forgotten"


def test_a_socket_that_was_dead(short_rings):
    world, fake = short_rings
    device = register(world, deviceId="iphone-h")
    corpse = RawSocket(world.server.port, world.token("10"), path="/ws?device=iphone-h")
    assert corpse.status == 101
    world.connect("11", "iphone-t").ring("10", "c-1")
    assert fake.wait_for_push(device, timeout=5)
    text = until(world, "c-1", "ended: unanswered", title="The socket was dead: probe failed, then pushed")
    assert "no answer" in text and "a connection that did not answer its ping was closed first" in text


def test_a_blocked_caller(short_rings):
    world, _ = short_rings
    world.rest("10").post("/api/blocks", {"userId": "11"})
    hanako = world.connect("10", "iphone-h")
    taro = world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    assert taro.expect(type="call", state="ended")["reason"] == "unanswered"
    assert hanako.fence() == []
    text = until(world, "c-1", "ended: unanswered", title="Blocked")
    assert "10 has blocked 11" in text


def test_do_not_disturb(short_rings):
    world, fake = short_rings
    register(world, deviceId="iphone-h")
    world.rest("10").put("/api/me/dnd", {"until": int(time.time() * 1000) + 60_000})
    world.connect("11", "iphone-t").ring("10", "c-1")
    text = until(world, "c-1", "ended: unanswered", title="Do not disturb")
    assert "had do-not-disturb on" in text
    assert fake.pushes() == []


def test_do_not_disturb_while_it_rings(short_rings):
    world, fake = short_rings
    fake.script(token(1), [{"status": 503, "reason": "ServiceUnavailable"}] * 20)
    register(world, deviceId="iphone-h")
    world.connect("11", "iphone-t").ring("10", "c-1")
    wait_for(world, "c-1", "503")
    world.rest("10").put("/api/me/dnd", {"until": int(time.time() * 1000) + 60_000})
    tries = len(fake.pushes())
    text = until(world, "c-1", "ended: unanswered", title="Do not disturb, set while it rang")
    assert "set do-not-disturb while it rang" in text
    assert len(fake.pushes()) <= tries + 1, "one push may have been under way"


def test_a_caller_who_gave_up_first(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    taro = world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    pushed(fake, device)
    taro.ask(type="end", callId="c-1")
    text = until(world, "c-1", "ended: cancelled", "200", title="The caller gave up first")
    assert "The caller gave up" in text


def test_a_server_that_was_restarted_while_it_rang(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    world.connect("11", "iphone-t").ring("10", "c-1")
    pushed(fake, device)
    # If the server were killed before it has stored the result of the push, the explanation would not show "200".
    wait_for(world, "c-1", "200")
    world.server.kill()
    world.server.start()
    hanako = world.connect("10", "iphone-h")
    hanako.expect(type="offer")
    hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
    hanako.ask(type="end", callId="c-1")
    text = until(world, "c-1", "ended: hangup", "200", title="The server was restarted while it rang")
    assert "The server was restarted in between" in text


def test_explain_reads_the_folder_of_a_stopped_server_too(push_world):
    world, _ = push_world
    world.connect("11", "iphone-t").ring("10", "c-1")
    world.server.terminate()
    assert world.server.exit_code() == 0
    command = [str(binary()), "explain", "c-1", *world.server.store_options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
    assert run.returncode == 0 and "Verdict: The call rang when the server stopped or was killed" in run.stdout


def test_an_unknown_call_is_reported_in_one_line_and_fails(world):
    command = [str(binary()), "explain", "nowhere", *world.server.store_options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
    assert run.returncode != 0 and len(run.stderr.strip().splitlines()) == 1 and "nowhere" in run.stderr


def test_the_newest_call_is_explained_without_its_call_id(world):
    for caller, call_id in (("11", "c-1"), ("12", "c-2")):
        connection = world.connect(caller, f"phone-{caller}")
        connection.ring("10", call_id)
        connection.ask(type="end", callId=call_id)
    wait_for(world, "c-2", "ended: cancelled")

    def title(*arguments) -> str:
        return run("explain", *arguments, *world.server.store_options).stdout.partition(",")[0]

    assert title("--last") == "Call c-2" and title("--user", "10") == "Call c-2"
    assert title("--user", "11") == "Call c-1" and title("--user", "10", "--user", "11") == "Call c-1"
    one_clear_line(run("explain", "--user", "13", *world.server.store_options), "No call of 13 in ")
    one_clear_line(run("explain", *world.server.store_options), "name a callId, --user or --last")
    one_clear_line(run("explain", "c-1", "--last", *world.server.store_options), "--last and a callId")
    one_clear_line(run("explain", "--last", "--epoch", "1", *world.server.store_options), "--epoch belongs to a callId")


@sqlite_only("writes into its file")
def test_the_newest_call_of_two_users_is_found_behind_many_others(world):
    for caller in ("12", "11"):
        connection = world.connect(caller, f"phone-{caller}")
        connection.ring("10", f"c-{caller}")
        connection.ask(type="end", callId=f"c-{caller}")
    world.server.terminate()
    assert world.server.exit_code() == 0
    with closing(sqlite3.connect(world.server.data / "ringline.sqlite")) as database, database:
        rows = database.execute("SELECT * FROM call WHERE caller = '11'")
        assert [column[0] for column in rows.description][:2] == ["number", "id"]
        ((last, _, *rest),) = rows.fetchall()
        newer = [(last + number, f"c-11-{number}", *rest) for number in range(1, 2_500)]
        database.executemany(f"INSERT INTO call VALUES ({', '.join('?' * (2 + len(rest)))})", newer)
    options = world.server.store_options
    assert run("explain", "--user", "10", "--user", "12", *options).stdout.startswith("Call c-12,")
    assert run("explain", "--user", "10", *options).stdout.startswith("Call c-11-2499,")


@sqlite_only("writes into its file")
def test_a_long_time_is_told_in_words(world):
    taro = world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    taro.ask(type="end", callId="c-1")
    world.server.terminate()
    assert world.server.exit_code() == 0
    with closing(sqlite3.connect(world.server.data / "ringline.sqlite")) as database, database:
        database.execute("UPDATE call SET started_at = started_at - 90000000")
    text = run("explain", "c-1", *world.server.store_options).stdout
    assert "The caller gave up 25 h 0 min after the offer" in text


def test_a_call_is_shown_while_it_goes_on(world):
    command = [str(binary()), "explain", "--user", "10", "--follow", *world.server.store_options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": clean_environment()}
    with subprocess.Popen(command, **pipes) as following:
        assert "waiting for the next call of 10" in following.stderr.readline()
        taro, hanako = world.connect("11", "iphone-t"), world.connect("10", "iphone-h")
        taro.ring("10", "c-1")
        shown = [following.stdout.readline() for _ in range(4)]
        assert shown[0].startswith("Call c-1") and "── offer ─" in shown[3]
        hanako.ask(type="answer", callId="c-1", sdp=samples.ANSWER)
        while "◀─ answer ─" not in shown[-1]:
            shown.append(following.stdout.readline())
        taro.ask(type="end", callId="c-1")
        rest = following.communicate(timeout=15)[0]
    text = "".join(shown) + rest
    assert following.returncode == 0 and text.count("Call c-1") == 1 and text.count("◀─ answer ─") == 1
    assert text.index("ended: hangup") < text.index("Verdict: 10 answered on iphone-h")


def test_a_follower_without_a_call_ends_with_ctrl_c(world):
    command = [str(binary()), "explain", "--follow", *world.server.store_options]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=clean_environment()) as following:
        assert "waiting for the next call; stop with Ctrl-C" in following.stderr.readline()
        following.send_signal(signal.SIGINT)
        assert following.wait(10) == 0


def test_an_older_call_that_goes_on_is_followed_before_the_next_one(world):
    taro, other = world.connect("11", "iphone-t"), world.connect("12", "phone-12")
    taro.ring("10", "c-1")
    other.ring("10", "c-2")
    other.ask(type="end", callId="c-2")
    command = [str(binary()), "explain", "--user", "10", "--follow", *world.server.store_options]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "env": clean_environment()}
    with subprocess.Popen(command, **pipes) as following:
        try:
            assert following.stdout.readline().startswith("Call c-1")
            taro.ask(type="end", callId="c-1")
            assert "ended: cancelled" in following.communicate(timeout=15)[0]
        finally:
            following.kill()


def test_the_end_of_a_call_is_seen_though_the_servers_clock_is_ahead(make_server, make_world, clock_library, tmp_path):
    clock = WallClock(clock_library, tmp_path / "clock", ahead=600)
    world = make_world(make_server(environment=clock.environment))
    taro = world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    taro.ask(type="end", callId="c-1")
    wait_for(world, "c-1", "ended: cancelled")
    assert "Verdict:" in run("explain", "c-1", "--follow", *world.server.store_options).stdout


# On a terminal


def on_terminal(world, rows: int, wanted: str, *arguments, term: str = "xterm") -> str:
    """Runs a command on a terminal of 80 columns until it has written this text twice; returns all that it wrote."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 80, 0, 0))
    command = [str(binary()), *arguments, *world.server.store_options]
    written = bytearray()

    def read():
        while True:
            try:
                more = os.read(ours, 65_536)
            except OSError:
                return
            if not more:
                return
            written.extend(more)

    with subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=clean_environment(TERM=term)
    ) as process:
        os.close(theirs)
        reader = threading.Thread(target=read)
        reader.start()
        eventually(lambda: written.decode(errors="ignore").count(wanted) >= 2)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        reader.join(10)
    os.close(ours)
    return written.decode()


def test_a_list_that_is_longer_than_the_screen_is_cut_and_drawn_in_its_place(world):
    taro = world.connect("11", "iphone-t")
    for number in range(9):
        taro.ring(f"{number}", f"c-{number}")
    written = on_terminal(world, 6, "c-8 ", "calls", "--watch")
    pictures = re.split(r"\x1b\[\d+F\x1b\[J", written)
    assert len(pictures) > 1, "the durations change"
    for picture in pictures:
        assert picture.count("\n") <= 5, picture
    assert "c-8 " in pictures[0] and "… 6 more" in pictures[0] and "c-1 " not in written
    assert "\x1b" not in on_terminal(world, 6, "c-8 ", "calls", "--watch", term="dumb")


def test_a_device_that_was_pushed_and_did_not_come_while_the_tablet_rang(push_world):
    world, fake = push_world
    device = register(world, deviceId="iphone-h")
    tablet, taro = world.connect("10", "tablet-h"), world.connect("11", "iphone-t")
    taro.ring("10", "c-1")
    pushed(fake, device)
    tablet.ask(type="ringing", callId="c-1")
    taro.ask(type="end", callId="c-1")
    text = until(world, "c-1", "ended: cancelled", "200", title="One device rang, the other did not come back")
    assert "tablet-h rang over its connection" in text and "but the device had not come back when the ringing stopped" in text


def test_a_server_that_was_stopped_while_it_rang(short_rings):
    world, _ = short_rings
    register(world, deviceId="iphone-h")
    world.connect("11", "iphone-t").ring("10", "c-1")
    wait_for(world, "c-1", "200")
    world.server.kill()
    wait_for(world, "c-1", "rang when the server stopped or was killed")
    title = "The server was stopped while it rang, and has not run since"
    text = until(world, "c-1", "The server stopped while", title=title, seconds=15)
    assert "The server stopped while the call rang" in text


def test_an_answered_call_of_a_server_that_was_killed(world):
    taro, _ = world.call("c-1")
    taro.ask(type="connected", callId="c-1")
    wait_for(world, "c-1", "the call goes on")
    world.server.kill()
    text = until(world, "c-1", "has not run since", title="The server was killed in the middle of a call")
    assert "the last event is at +" in text and "the call goes on" not in text
    world.server.start()
    wait_for(world, "c-1", "the call goes on")
    if ON_POSTGRES:
        return  # The rest is about a backup by `ringline backup`.
    copy = world.server.data.parent / "copy.sqlite"
    made = [str(binary()), "backup", str(copy), "--data", str(world.server.data)]
    assert subprocess.run(made, capture_output=True, timeout=20, env=clean_environment()).returncode == 0
    command = [str(binary()), "explain", "c-1", "--data", str(copy)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
    assert run.returncode == 0 and "it was going on when this copy was made" in run.stdout


def test_one_call_id_used_by_several_pairs_and_several_times(world):
    taro, hanako = world.connect("11", "iphone-t"), world.connect("10", "iphone-h")
    for number in range(3):
        taro.ring("10", "c-1", sdp=samples.changed(samples.OFFER, str(number)))
        hanako.ask(type="end", callId="c-1")
    world.connect("12", "phone-i").ring("13", "c-1")
    text = until(world, "c-1", "12 calls 13", title="One name, several calls")
    assert text.count("11 calls 10, declined: --user 11 --user 10 --epoch ") == 3
    for options, title in [
        (["--user", "11", "--user", "10", "--epoch", "2"], "epoch 2: 11 calls 10"),
        (["--user", "10"], "epoch 3: 11 calls 10"),
        (["--user", "12", "--user", "13"], "epoch 1: 12 calls 13"),
    ]:
        command = [str(binary()), "explain", "c-1", *world.server.store_options, *options]
        run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
        assert run.returncode == 0 and run.stdout.startswith(f"Call c-1, {title}"), run.stdout + run.stderr
    command = [str(binary()), "explain", "c-1", *world.server.store_options, "--user", "12", "--user", "10"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=20, env=clean_environment())
    assert run.returncode != 0 and "c-1 of 12 and 10" in run.stderr


def test_a_call_with_hundreds_of_candidates_fits_a_page(world):
    taro, hanako = world.call("c-1")
    for number in range(100):
        taro.send(type="ice", callId="c-1", candidate=samples.candidate(number))
        hanako.send(type="ice", callId="c-1", candidate=samples.candidate(100 + number))
    taro.fence(), hanako.fence()
    taro.ask(type="end", callId="c-1")
    text = until(world, "c-1", "ended: hangup", title="Hundreds of candidates")
    assert text.count("ice ×100") == 2 and len(text.splitlines()) < 20
