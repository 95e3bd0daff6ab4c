# The operator's image: static programs compiled on the host (make build), nothing else.
# /agent installs itself into database pods: an init container runs `/agent install DIR`.
FROM scratch
COPY bin/manager bin/agent bin/bench-runner bin/backup /
USER 65532:65532
ENTRYPOINT ["/manager"]
