# kube-proxy and the storage helper: the only parts of a node that need more than one
# static program. Built in the folder that holds kube-proxy.
ARG BASE=debian:bookworm-slim
FROM $BASE
ARG MIRROR=
RUN set -eu; \
    . /etc/os-release; \
    lists=; \
    if [ -n "$MIRROR" ]; then \
      echo "deb $MIRROR $VERSION_CODENAME main" >/tmp/mirror.list; \
      lists="-o Dir::Etc::SourceList=/tmp/mirror.list -o Dir::Etc::SourceParts=/dev/null"; \
    fi; \
    export DEBIAN_FRONTEND=noninteractive; \
    apt-get $lists update; \
    apt-get $lists install -y --no-install-recommends iptables nftables conntrack kmod; \
    rm -rf /var/lib/apt/lists/* /var/cache/apt/* /tmp/mirror.list /usr/share/doc/*
COPY kube-proxy /usr/local/bin/
