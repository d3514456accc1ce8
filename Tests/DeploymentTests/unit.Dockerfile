# An image that boots Debian with the systemd unit, for test_unit.py.
ARG IMAGE=localhost/ringline:test
FROM ${IMAGE}
# hadolint ignore=DL3002
USER 0:0
# hadolint ignore=DL3008
RUN apt-get -q update \
    && DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends systemd systemd-sysv dbus \
    && rm -rf /var/lib/apt/lists/*
COPY ringline.service /etc/systemd/system/ringline.service
RUN install -d -m 755 /etc/ringline && touch /etc/ringline/ringline.conf && systemctl enable ringline
ENTRYPOINT []
CMD ["/sbin/init"]
