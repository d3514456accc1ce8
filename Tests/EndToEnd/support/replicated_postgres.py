"""A PostgreSQL server with a synchronous standby: every commit that a client sees confirmed is on both."""

import time

from postgres_server import PostgresServer
from ringline_server import free_port
from tcp_proxy import Proxy
from waiting import eventually

# No test ends the machine, so nothing needs to reach the disk. A standby connects again without the usual pause of 5 s.
SETTINGS = ("fsync=off", "full_page_writes=off", "wal_retrieve_retry_interval=100ms")


class ReplicatedPostgres(PostgresServer):
    """A primary and its synchronous standby, behind one address that always leads to the primary."""

    def __init__(self):
        self.databases = {}
        self.primary = PostgresServer(*SETTINGS)
        # As an address that moves with the primary, or as a balancer in front of both.
        self.front = Proxy(lambda: [self.primary.port], free_port())
        self.port = self.front.port
        self.address = f"postgres://ring@127.0.0.1:{self.port}"
        # The way from the primary to the standby.
        self.replication_hop = Proxy(lambda: [self.primary.port], free_port())
        self.standby = PostgresServer(*SETTINGS, primary=self.replication_hop.port)
        self._wait_for_standby()

    def _wait_for_standby(self):
        """Makes the primary confirm a commit only when the standby has it, and waits until this is so."""
        state = "SELECT sync_state FROM pg_stat_replication WHERE state = 'streaming'"
        eventually(lambda: self.primary.sql(state) != "", 20, lambda: "the standby does not stream")
        self.primary.sql("ALTER SYSTEM SET synchronous_standby_names = 'standby'", "SELECT pg_reload_conf()")
        eventually(lambda: self.primary.sql(state) == "sync", 20, lambda: "the standby is not synchronous")

    def crash(self):
        """Kills the primary, and starts it again."""
        self.primary.crash()

    def fail_over(self, after: float = 0):
        """Kills the primary, and promotes the standby after some seconds. There is no standby then; see
        `restore_standby`.
        """
        self.primary.kill()
        time.sleep(after)
        self.standby.promote()
        self.primary, self.standby = self.standby, self.primary

    def restore_standby(self):
        """Makes the server that was killed a synchronous standby of the new primary."""
        self.standby.become_standby(self.replication_hop.port)
        self._wait_for_standby()

    def end(self):
        self.standby.end()
        self.primary.end()
        self.front.close()
        self.replication_hop.close()
