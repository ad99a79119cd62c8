# Polylogue as a server, with a neural voice inside and nothing that a running one does not need.
#
#   docker build -t polylogue .
#   docker run -p 7654:7654 -e POLYLOGUE_TOKENS=choose-one -v polylogue:/var/lib/polylogue polylogue
#
# docs/install.md says more.

FROM rust:1.95-bookworm AS build
RUN apt-get update \
 && apt-get install -y --no-install-recommends cmake libclang-dev python3-pip \
 && rm -rf /var/lib/apt/lists/*
WORKDIR /src
COPY . .
RUN --mount=type=cache,target=/usr/local/cargo/registry \
    --mount=type=cache,target=/src/target \
    cargo build --locked --profile dist --package polylogue \
 && install -Dm755 target/dist/polylogue /out/usr/bin/polylogue
# The voice is fetched here, so that the image needs neither pip nor a network to speak. VOICE=no leaves it out.
ARG VOICE=yes
RUN mkdir -p /out/var/cache/polylogue /out/var/lib/polylogue \
 && if [ "$VOICE" = yes ]; then XDG_CACHE_HOME=/out/var/cache /out/usr/bin/polylogue voices pull kokoro; fi

FROM debian:bookworm-slim
RUN apt-get update \
 && apt-get install -y --no-install-recommends ca-certificates espeak-ng libstdc++6 \
 && rm -rf /var/lib/apt/lists/* \
 && useradd --system --uid 7654 --home-dir /var/lib/polylogue --shell /usr/sbin/nologin polylogue
COPY --from=build /out/usr/bin/polylogue /usr/bin/polylogue
COPY --from=build --chown=7654:7654 /out/var/cache/polylogue /var/cache/polylogue
COPY --from=build --chown=7654:7654 /out/var/lib/polylogue /var/lib/polylogue
COPY LICENSE-MIT LICENSE-APACHE /usr/share/doc/polylogue/
USER 7654:7654
# A polylogue.toml in here is the configuration; sessions and clips are written beside it.
WORKDIR /var/lib/polylogue
ENV XDG_CACHE_HOME=/var/cache
VOLUME ["/var/lib/polylogue", "/var/cache/polylogue"]
EXPOSE 7654
# bash opens the connection itself: the image has no curl.
HEALTHCHECK --interval=15s --timeout=3s --start-period=10s \
  CMD ["bash", "-c", "exec 3<>/dev/tcp/127.0.0.1/7654 && printf 'GET /healthz HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3 && read -r _ status _ <&3 && [ \"$status\" = 200 ]"]
ENTRYPOINT ["polylogue"]
# Beyond loopback it wants tokens: without POLYLOGUE_TOKENS it says so and ends.
CMD ["serve", "--listen", "0.0.0.0:7654"]
