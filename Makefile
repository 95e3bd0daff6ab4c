# galera-operator. `make help` lists what there is to do.

include hack/versions.env

SHELL := /usr/bin/env bash -euo pipefail
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

MODULE := github.com/galera-operator/galera-operator
# VERSION is a semantic version, without a tag too: v0.0.0-gCOMMIT.
# The pages are no part of a program: a report that was just written does not make the next one's version dirty.
VERSION ?= $(shell git describe --tags --match 'v*' 2>/dev/null || echo "v0.0.0-g$$(git describe --always --exclude '*' 2>/dev/null || echo dev)")$(shell git diff --quiet HEAD -- . ':!docs' 2>/dev/null || [ $$? != 1 ] || echo -dirty)
# IMG is the operator's image for deploy and dist; the local cluster has its own (hack/versions.env).
IMG ?= ghcr.io/galera-operator/galera-operator:$(VERSION)

# OUT is the folder for install.yaml and the packaged chart.
OUT ?= dist

# Programs and tests are compiled alike, so that they and every clone share Go's cache.
# The tag leaves out gRPC, which the client of Google Cloud Storage does not need here.
# Test programs are linked without debug information, which takes a third of the time.
GO_TAGS := disable_grpc_modules
export GOFLAGS := -trimpath -tags=$(GO_TAGS) -ldflags=-w
export CGO_ENABLED := 0

LDFLAGS := -s -w -X $(MODULE)/internal/version.Version=$(VERSION)
GO_BUILD := go build -ldflags '$(LDFLAGS)'

# BENCH_RUNNER is a module of its own: what only it needs is not among the requirements of the operator.
BENCH_RUNNER := cmd/bench-runner

# Tools, each in a folder of its version, so that another version is another file.
TOOLS := $(CURDIR)/bin/tools
CONTROLLER_GEN := $(TOOLS)/controller-gen-$(CONTROLLER_TOOLS_VERSION)/controller-gen
CRD_REF_DOCS := $(TOOLS)/crd-ref-docs-$(CRD_REF_DOCS_VERSION)/crd-ref-docs
KUSTOMIZE := $(TOOLS)/kustomize-$(KUSTOMIZE_VERSION)/kustomize
GOLANGCI_LINT := $(TOOLS)/golangci-lint-$(GOLANGCI_LINT_VERSION)/golangci-lint
ACTIONLINT := $(TOOLS)/actionlint-$(ACTIONLINT_VERSION)/actionlint

# phase NAME: a line that can be found again in a long log.
phase = @printf '\n==> %s  %s\n' "$$(date +%H:%M:%S)" "$(1)"

# help lists every target with a comment after ##.
.PHONY: help
help:
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n\033[1m%s\033[0m\n", substr($$0, 5)} \
		/^[a-z][a-z0-9-]*:.*## / {printf "  \033[36m%-17s\033[0m %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

##@ Try it

.PHONY: up
up: stack ## Local Kubernetes with an encrypted three-node cluster in it, and proof (NODES=1: a single host).
	@hack/demo.sh

.PHONY: stack
stack: build ## Local Kubernetes with cert-manager and the operator in it.
	$(call phase,the local Kubernetes)
	@hack/stack.sh

.PHONY: down
down: ## Remove the local Kubernetes.
	@hack/cluster.sh down

.PHONY: clean-cache
clean-cache: ## Remove the local Kubernetes and everything that was built for it.
	@hack/clean-cache.sh

##@ Build

.PHONY: build
build: ## Compile the programs into bin, statically.
	@$(GO_BUILD) -o bin/manager ./cmd/manager
	@$(GO_BUILD) -o bin/agent ./cmd/agent
	@$(GO_BUILD) -o bin/benchmarks ./cmd/benchmarks
	@cd $(BENCH_RUNNER) && $(GO_BUILD) -o ../../bin/bench-runner .
	@$(GO_BUILD) -o bin/backup ./cmd/backup
	@$(GO_BUILD) -o bin/kubectl-galera ./cmd/kubectl-galera
	@$(GO_BUILD) -o bin/kubectl-galera-bench ./cmd/kubectl-galera-bench

.PHONY: images
images: build ## Build all container images in the local Docker.
	@hack/images.sh all operator

.PHONY: dist
dist: $(KUSTOMIZE) ## Write dist/install.yaml: everything, with the image IMG (OUT: another folder).
	@mkdir -p $(OUT)
	@hack/render.sh $(KUSTOMIZE) $(IMG) >$(OUT)/install.yaml.tmp
	@mv $(OUT)/install.yaml.tmp $(OUT)/install.yaml
	@echo "$(OUT)/install.yaml uses $(IMG)"

.PHONY: package
package: ## Write dist/galera-operator-VERSION.tgz: the chart, with the version CHART_VERSION and its default image.
	@hack/tools.sh build helm
	@PATH="$$(hack/tools.sh path):$$PATH" helm package charts/galera-operator --destination $(OUT) $(if $(CHART_VERSION),--version $(CHART_VERSION:v%=%) --app-version v$(CHART_VERSION:v%=%))

.PHONY: release-dry-run
release-dry-run: $(KUSTOMIZE) ## Leave a release in dist: image, programs, chart, manifest, SBOMs, checksums, signatures; check it, publish nothing.
	@hack/tools.sh build crane goreleaser syft cosign helm
	@hack/release-dry-run.sh

.PHONY: clean
clean: ## Remove what was built here; tools stay.
	@rm -rf dist bin/manager bin/agent bin/backup bin/benchmarks bin/bench-runner bin/kubectl-galera bin/kubectl-galera-bench bin/render bin/release cover.out

##@ Develop

.PHONY: generate
generate: $(CONTROLLER_GEN) ## Generate deep copies.
	@$(CONTROLLER_GEN) object paths=./api/...

.PHONY: manifests
manifests: $(CONTROLLER_GEN) $(CRD_REF_DOCS) ## Generate CRDs, their reference, the operator's roles, and what the chart has of them.
	@$(CONTROLLER_GEN) crd paths=./api/... output:crd:dir=config/crd/bases
	@go run ./hack/bounds config/crd/bases
	@$(CONTROLLER_GEN) rbac:roleName=galera-operator-manager paths=./controllers/{clusterref,galera{cluster,backup,backupstore,backupschedule,database,user,proxy,restore}}/... output:rbac:dir=config/rbac
	@$(CONTROLLER_GEN) rbac:roleName=galera-operator-benchmarks paths=./internal/bench/galerabenchmark/... output:rbac:dir=config/benchmarks
	@hack/reference.sh $(CRD_REF_DOCS) docs/reference.md
	@$(MAKE) chart

.PHONY: chart
chart: $(KUSTOMIZE) ## Generate the chart's templates, defaults and table of values from config.
	@$(KUSTOMIZE) build config/default | go run ./hack/chart

.PHONY: fmt
fmt: $(GOLANGCI_LINT) ## Format the Go code.
	@$(GOLANGCI_LINT) fmt

.PHONY: lint
lint: $(GOLANGCI_LINT) $(ACTIONLINT) ## Check code, import direction, sizes, shell scripts and workflows.
	@$(GOLANGCI_LINT) run --allow-parallel-runners
	@cd $(BENCH_RUNNER) && $(GOLANGCI_LINT) run --allow-parallel-runners
	@$(ACTIONLINT) -no-color .github/workflows/*.yaml
	@hack/check-size.sh
	@hack/check-words.sh
	@if command -v shellcheck >/dev/null; then shellcheck -x hack/*.sh .ci/run; else echo "shellcheck is not installed: scripts were not checked"; fi

.PHONY: verify
verify: $(CONTROLLER_GEN) $(CRD_REF_DOCS) $(KUSTOMIZE) ## Regenerate everything elsewhere and compare.
	@hack/verify.sh $(CONTROLLER_GEN) $(KUSTOMIZE) $(CRD_REF_DOCS)

##@ Documents

.PHONY: docs
docs: ## Build the site of docs/ (SITE: the folder, by default in the cache); a broken link fails. Needs Python and npm.
	@hack/docs.sh $(SITE)

##@ Test

# Suites that need no cluster run beside each other. The local Kubernetes starts, which is mostly waiting once it
# was built, when the shortest of them is over.
.PHONY: test
test: ## Unit, model, API, store, agent and end-to-end tests.
	@$(MAKE) test-unit test-model
	@$(MAKE) -j3 test-agent test-api stack-after-stores
	@$(MAKE) test-e2e
	$(call phase,all tests passed)

.PHONY: stack-after-stores
stack-after-stores: test-stores
	@$(MAKE) stack

# The race detector needs a C compiler, and everything compiled once more: it is used where no
# Kubernetes library is involved.
RACE := $(if $(shell command -v gcc),-race)
RACE_PACKAGES = ./internal/agent/... ./internal/agentapi/... ./internal/datadir/... ./internal/eventloop/... ./internal/galera/... ./internal/mariadbd/... \
  ./internal/mycnf/... ./internal/pki/... ./internal/plan/... ./internal/platform/...
OTHER_PACKAGES = $(shell comm -23 <(go list ./api/... ./cmd/... ./hack/... ./internal/... ./test/bench/... ./test/docs/... ./test/harness/... ./test/imports/... ./test/release/... | sort) <(go list $(RACE_PACKAGES) ./test/model/... | sort))

.PHONY: test-unit
test-unit: ## Tests of single packages.
	$(call phase,unit tests)
	@CGO_ENABLED=$(if $(RACE),1,0) go test $(RACE) $(RACE_PACKAGES)
	@go test $(OTHER_PACKAGES)
	@cd $(BENCH_RUNNER) && go test ./...

.PHONY: test-model
test-model: ## The planner against a simulated cluster, with crashes and lost messages.
	$(call phase,model tests)
	@go test -timeout=30m ./test/model/... ./test/sites/ ./internal/backup/policy/

.PHONY: test-api
test-api: ## Against a real kube-apiserver and etcd.
	$(call phase,API tests)
	@hack/tools.sh build helm prometheus
	@KUBEBUILDER_CONTROLPLANE_START_TIMEOUT=4m KUBEBUILDER_ASSETS=$$(hack/tools.sh envtest) PATH="$$(hack/tools.sh path):$$PATH" go test -timeout=30m -parallel=4 ./controllers/... ./test/api/... ./test/chart/... ./test/monitoring/...

.PHONY: test-stores
test-stores: ## What backups use of object stores, with real servers: versitygw (S3), fake-gcs-server and Azurite.
	$(call phase,store tests)
	@hack/tools.sh build versitygw fake-gcs-server
	@hack/azurite.sh
	@hack/images.sh database database-old
	@PATH="$$(hack/tools.sh path):$$PATH" go test -tags=integration,$(GO_TAGS) -count=1 -parallel=3 ./internal/backup/store/ ./internal/backup/runner/

.PHONY: test-agent
test-agent: ## The agent with a real mariadbd, in containers of the database image.
	$(call phase,agent tests)
	@hack/images.sh database database-old
	@go test -tags=integration,$(GO_TAGS) -count=1 -timeout=45m -parallel=4 ./internal/agent/ ./internal/agent/accounts/ ./internal/agent/wsrep/ ./internal/external/ ./internal/backup/serving/ ./internal/backup/tables/

# PROCS is how many end-to-end specs run side by side. Slow ones take down hosts and links: one after the other.
PROCS ?= $(if $(E2E),1,2)

.PHONY: test-e2e
test-e2e: stack ## On the local Kubernetes, with a real client, faults and captured packets (E2E='label filter').
	@hack/tools.sh build helm
	$(call phase,end-to-end tests)
	@PATH="$$(hack/tools.sh path):$$PATH" go run github.com/onsi/ginkgo/v2/ginkgo run --procs=$(PROCS) --timeout=240m -v --label-filter='$(if $(E2E),$(E2E),!slow)' ./test/e2e

.PHONY: test-full
test-full: lint verify test-unit test-api ## Everything: the model with new seeds for SIM_DURATION, the slow agent and end-to-end tests.
	@GALERA_SLOW=1 $(MAKE) test-agent
	@SIM_DURATION=$(or $(SIM_DURATION),10m) $(MAKE) test-model
	@$(MAKE) test-e2e E2E='slow || !slow'

##@ Measure

.PHONY: bench-lifecycle
bench: bench-lifecycle ## Measure everything there is to measure.

bench-lifecycle: stack ## Print how fast a cluster starts, recovers and idles, on the local Kubernetes.
	@PATH="$$(hack/tools.sh path):$$PATH" go run ./test/bench/lifecycle

.PHONY: bench-join
bench: bench-join

bench-join: stack ## Print how fast a node gets a full copy, encrypted and in clear, by the operator and by hand; and how fast a cluster grows and shrinks.
	@PATH="$$(hack/tools.sh path):$$PATH" go run ./test/bench/join

.PHONY: bench-backup
bench: bench-backup

bench-backup: stack ## Print what backups, restores and an archive cost, and how far a second site is behind, with a real S3 server on the local Kubernetes.
	@PATH="$$(hack/tools.sh path):$$PATH" go run ./test/bench/backup

.PHONY: bench-scale
bench: bench-scale

bench-scale: build ## Print what one operator needs for 10 to 500 clusters, with simulated agents over real mTLS and a real API server.
	@KUBEBUILDER_ASSETS="$$(hack/tools.sh envtest)" go run ./test/bench/scale

.PHONY: bench-distance
bench: bench-distance

bench-distance: ## Print what TLS and the send windows cost between nodes that are far from each other, in plain containers with delayed packets.
	@hack/images.sh database
	@go run ./test/bench/replication -what distance

.PHONY: bench-cost
bench: bench-cost

bench-cost: ## Print what a transaction costs three nodes, plain and with TLS, and where the time goes. Needs strace and perf.
	@hack/images.sh database
	@go run ./test/bench/replication -what cost

.PHONY: bench-settings
bench: bench-settings

bench-settings: ## Print what other settings change for transactions over TLS, in plain containers, with intervals.
	@hack/images.sh database
	@go run ./test/bench/replication -what settings

.PHONY: bench-import
bench: bench-import

bench-import: build ## Print how fast another server is copied, by the Job, by mariadb-dump and by mariadb-backup, and how fast a node catches up with it, in plain containers.
	@hack/images.sh database database-old sysbench
	@go run ./test/bench/import

.PHONY: bench-atrest
bench: bench-atrest

bench-atrest: ## Print what encryption at rest costs transactions, copies, backups, restores and recoveries, in plain containers.
	@hack/images.sh database sysbench
	@go run ./test/bench/atrest

.PHONY: experiment
experiment: stack ## Run a sample of config/samples/benchmarks (SAMPLE) on the local Kubernetes; its report and raw data go to docs/experiments.
	@hack/experiment.sh "$(SAMPLE)"

##@ Use on the cluster of the current kubectl context

.PHONY: install
install: ## Install the CRDs.
	@kubectl apply --server-side -k config/crd

.PHONY: uninstall
uninstall: ## Remove the CRDs; refused while any resource of theirs is left.
	@hack/uninstall.sh

.PHONY: deploy
deploy: $(KUSTOMIZE) ## Install the operator with the image IMG; cert-manager must be there.
	@hack/render.sh $(KUSTOMIZE) $(IMG) | kubectl apply --server-side -f -

.PHONY: undeploy
undeploy: ## Remove the operator. CRDs, namespace, and every GaleraCluster and its data stay.
	@kubectl delete --ignore-not-found -k config/undeploy

##@ Tools

.PHONY: tools
tools: $(CONTROLLER_GEN) $(KUSTOMIZE) $(GOLANGCI_LINT) $(ACTIONLINT) ## Install the development tools in bin/tools.

# install-tool PACKAGE@VERSION: into the folder of the target. Go's own cache makes it work
# without a network when the version was built here before.
install-tool = @echo "installing $(1)" && GOBIN=$(dir $@) GOFLAGS= go install $(1)

$(CONTROLLER_GEN):
	$(call install-tool,sigs.k8s.io/controller-tools/cmd/controller-gen@$(CONTROLLER_TOOLS_VERSION))

$(CRD_REF_DOCS):
	$(call install-tool,github.com/elastic/crd-ref-docs@$(CRD_REF_DOCS_VERSION))

$(KUSTOMIZE):
	$(call install-tool,sigs.k8s.io/kustomize/kustomize/v5@$(KUSTOMIZE_VERSION))

$(GOLANGCI_LINT):
	$(call install-tool,github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION))

$(ACTIONLINT):
	$(call install-tool,github.com/rhysd/actionlint/cmd/actionlint@$(ACTIONLINT_VERSION))
