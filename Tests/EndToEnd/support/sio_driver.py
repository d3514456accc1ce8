"""One Socket.IO client in a separate process, which can be killed or stopped and can use an old release.

Runs with python-socketio 4 (Engine.IO 3) as well as 5 (Engine.IO 4). The first argument is its configuration in JSON.
After that it reads commands from stdin and reports events on stdout, one JSON object per line.
"""

import json
import sys
import threading

import socketio

EVENTS = ["offer", "answer", "ice", "call-ended", "call-replaced", "message", "user-online", "user-offline", "signal-error"]
lock = threading.Lock()


def say(**what):
    with lock:
        sys.stdout.write(json.dumps(what) + "\n")
        sys.stdout.flush()


def main():
    config = json.loads(sys.argv[1])
    client = socketio.Client(reconnection=config["reconnection"], reconnection_delay=0.1, reconnection_delay_max=0.5)
    for name in EVENTS:
        client.on(name, lambda data=None, name=name: say(event=name, data=data))

    @client.event
    def connect():
        # The app registers on every connect and reconnect, too.
        if config["register"] is not None:
            client.emit("register", {"userId": config["register"]}, callback=lambda reply: say(registered=reply))
        say(connected=client.transport())

    @client.event
    def disconnect(*reason):
        say(disconnected=str(reason[0]) if reason else "")

    @client.event
    def connect_error(data=None):
        say(refused=data if isinstance(data, (dict, str)) else str(data))

    options = {"headers": config["headers"], "socketio_path": config["path"]}
    if config["transports"]:
        options["transports"] = config["transports"]
    if config["auth"] is not None:
        options["auth"] = config["auth"]
    try:
        client.connect(config["url"], **options)
    except socketio.exceptions.ConnectionError as error:
        say(failed=str(error))
        return
    for line in sys.stdin:
        command = json.loads(line)
        if "emit" in command:
            number = command.get("ack")
            callback = None if number is None else (lambda *reply, number=number: say(ack=number, data=list(reply)))
            try:
                client.emit(command["emit"], command["data"], callback=callback)
            except socketio.exceptions.SocketIOError as error:
                say(failed=str(error))
        elif command.get("ask") == "transport":
            say(transport=client.transport())
        elif command.get("ask") == "leave":
            client.disconnect()
            return


main()
