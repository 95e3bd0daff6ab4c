# The operator's image: static programs compiled on the host (make build), nothing else.
# /agent installs itself into database pods: an init container runs `/agent install DIR`.
FROM scratch
COPY bin/manager bin/agent bin/backup bin/benchmarks bin/bench-runner /
USER 65532:65532
ENTRYPOINT ["/manager"]
