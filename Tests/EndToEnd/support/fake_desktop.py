"""A desktop without a screen: it takes the notifications that Chromium shows, and clicks on them.

Chromium shows notifications through the service `org.freedesktop.Notifications` of the user's D-Bus. So a click here is
one of the user for Chromium: the worker of the page gets a trusted `notificationclick`, and may open a page.
"""

import dataclasses
import subprocess
import threading

from jeepney import DBusAddress, MessageType, new_error, new_method_return, new_signal
from jeepney.bus_messages import message_bus
from jeepney.io.blocking import open_dbus_connection
from jeepney.low_level import HeaderFields
from waiting import eventually

NAME = "org.freedesktop.Notifications"
NOTIFICATIONS = DBusAddress("/org/freedesktop/Notifications", interface=NAME)
CAPABILITIES = ["actions", "body", "persistence"]


@dataclasses.dataclass(frozen=True)
class Notification:
    """A notification as the user sees it. `actions` are the names of its buttons, each with the button's text."""

    number: int
    title: str
    body: str
    actions: dict[str, str]
    is_silent: bool
    stays: bool


class FakeDesktop:
    """A D-Bus of its own with the service of a desktop; `environment` is for the program that shows notifications."""

    def __init__(self):
        self.lock = threading.Lock()
        self.shown: dict[int, Notification] = {}
        # Every notification ever shown, in order, also those that took the place of another.
        self.history: list[Notification] = []
        command = ["dbus-daemon", "--session", "--nofork", "--nopidfile", "--print-address"]
        self.daemon = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        address = self.daemon.stdout.readline().strip()
        self.environment = {"DBUS_SESSION_BUS_ADDRESS": address}
        self.connection = open_dbus_connection(address)
        self.connection.send_and_get_reply(message_bus.RequestName(NAME))
        threading.Thread(target=self.serve, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.daemon.kill()
        self.daemon.wait()

    def serve(self):
        while True:
            try:
                message = self.connection.receive()
            except (OSError, EOFError):
                return
            if message.header.message_type is MessageType.method_call:
                with self.lock:
                    self.connection.send(self.reply(message))

    def reply(self, message):
        match message.header.fields[HeaderFields.member]:
            case "GetCapabilities":
                return new_method_return(message, "as", (CAPABILITIES,))
            case "GetServerInformation":
                return new_method_return(message, "ssss", ("fake desktop", "Ringline", "1", "1.2"))
            case "Notify":
                return new_method_return(message, "u", (self.show(*message.body),))
            case "CloseNotification":
                self.shown.pop(message.body[0], None)
                return new_method_return(message)
            case method:
                return new_error(message, "org.freedesktop.DBus.Error.UnknownMethod", "s", (method,))

    def show(self, _app, replaced, _icon, title, body, actions, hints, _timeout) -> int:
        number = replaced or len(self.history) + 1
        buttons = dict(zip(actions[::2], actions[1::2], strict=True))
        # Chromium puts the page's address before the text.
        text = body.split("\n")[-1]
        is_silent = hints.get("suppress-sound", ("b", False))[1]
        # 2 = critical: Chromium says so for one that stays until the user acts.
        stays = hints.get("urgency", ("y", 1))[1] == 2
        self.history.append(Notification(number, title, text, buttons, is_silent, stays))
        self.shown[number] = self.history[-1]
        return number

    def sees(self, title: str, body: str) -> Notification:
        """Waits until a notification is shown, and returns it."""

        def found():
            with self.lock:
                return next((each for each in self.shown.values() if (each.title, each.body) == (title, body)), None)

        eventually(lambda: found() is not None, 10, lambda: f"{title}: {body} is not among {self.shown}")
        return found()

    def sees_nothing(self):
        """Waits until no notification is shown."""
        eventually(lambda: not self.shown, 10, lambda: str(self.shown))

    def click(self, notification: Notification, button: str | None = None):
        """Clicks on the button with this text, or on the notification itself."""
        names = [name for name, text in notification.actions.items() if text == button] if button else ["default"]
        with self.lock:
            self.connection.send(new_signal(NOTIFICATIONS, "ActionInvoked", "us", (notification.number, names[0])))
