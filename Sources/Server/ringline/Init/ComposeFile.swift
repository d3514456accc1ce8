/// The compose file of a server in a container, beside the configuration and the secret.
enum ComposeFile {
    /// Returns the text of the file; the machine publishes the container's port at this address.
    static func text(publishing address: ListenAddress) -> String {
        """
        # Made by 'ringline init'. The image: docker build -f Deploy/Dockerfile -t ringline .  in a clone.
        # The image's variables name the data folder and listen on all of the container's addresses; they override
        # ringline.conf. With a TURN server, nodes or a balancer: see Deploy/compose*.yaml in a clone.
        services:
          ringline:
            image: ringline
            command: ["serve", "--config", "/etc/ringline.conf"]
            restart: unless-stopped
            ports:
              - "\(address.text):8080"
            volumes:
              - data:/data
              - ./ringline.conf:/etc/ringline.conf:ro
            secrets:
              - jwt-secret
            environment:
              RINGLINE_JWT_SECRET_FILE: /run/secrets/jwt-secret
            # The server ends by itself within 10 s, and within 15 s if an event loop is stalled.
            stop_grace_period: 20s
            read_only: true
            tmpfs:
              - /tmp
            cap_drop:
              - ALL
            security_opt:
              - no-new-privileges:true
            ulimits:
              nofile: 65536

        volumes:
          data:

        secrets:
          jwt-secret:
            file: secrets/jwt-secret

        """
    }
}
