package e2e

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	. "github.com/onsi/ginkgo/v2"
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/galera-operator/galera-operator/test/harness"
)

// kube is the Kubernetes under test, secrets are all that it has had since the suite began.
var (
	kube    *harness.Kube
	secrets *harness.Secrets
)

func TestE2E(t *testing.T) {
	if suite, _ := GinkgoConfiguration(); GinkgoLabelFilter() == "" && len(suite.FocusStrings) == 0 {
		t.Skip("end-to-end tests need the local cluster of `make up`, and a label filter (make test-e2e gives both), " +
			"or a focus")
	}
	RegisterFailHandler(Fail)
	// Gomega's 10 ms keep a processor busy with logins and the API server with questions
	SetDefaultEventuallyPollingInterval(100 * time.Millisecond)
	RunSpecs(t, "galera-operator on a real Kubernetes")
}

// Once more, where the end of a long log is all that is read: the facts of the moment, and at last what failed.
var _ = ReportAfterSuite("failed specs", func(r Report) {
	for _, spec := range r.SpecReports.WithState(types.SpecStateFailureStates) {
		for _, entry := range spec.ReportEntries {
			if entry.Name == factsEntry {
				GinkgoWriter.Println(entry.StringRepresentation())
			}
		}
		GinkgoWriter.Printf("%s\n%s\n%s\n", spec.FullText(), spec.FailureLocation(),
			firstLines(spec.FailureMessage(), messageLines))
		GinkgoWriter.Println()
	}
})

const (
	// factsEntry is the name of a failed spec's facts in its report.
	factsEntry = "facts at the failure"
	// factLines and messageLines bound what the end of the log has of one spec.
	factLines, messageLines = 26, 10
)

// firstLines cuts a text after so many lines.
func firstLines(text string, most int) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if len(lines) > most {
		lines = append(lines[:most], fmt.Sprintf("... and %d lines more", len(lines)-most))
	}
	return strings.Join(lines, "\n")
}

// The first process puts right what an interrupted run has left, before any of them begins.
var _ = SynchronizedBeforeSuite(func(ctx SpecContext) {
	Expect(harness.CheckRequirements(ctx)).To(Succeed())
	connect()
	unlock, err := kube.Lock(ctx)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(unlock)
	Expect(kube.Network().Heal(ctx)).To(Succeed(), "removing what an interrupted run has left on the nodes")
	Expect(harness.LiftPolicies(ctx, kube)).To(Succeed(), "ending the enforcement of policies of an interrupted run")
	Expect(kube.Namespaces().DeleteLeftovers(ctx)).To(Succeed())
	Expect(kube.Operator().Scale(ctx, harness.OperatorReplicas)).To(Succeed())
}, func(SpecContext) {
	if kube == nil {
		connect()
	}
	log.SetLogger(logr.Discard()) // the plugin runs in this process, too
	watching, stop := context.WithCancel(context.Background())
	DeferCleanup(stop)
	var err error
	secrets, err = harness.WatchSecrets(watching, kube)
	Expect(err).NotTo(HaveOccurred())
}, NodeTimeout(45*time.Minute))

func connect() {
	GinkgoHelper()
	var err error
	kube, err = harness.Connect(cmp.Or(os.Getenv("GALERA_CONTEXT"), harness.DefaultContext), progress)
	Expect(err).NotTo(HaveOccurred())
}

// Each process removes what is its own; the first one checks the operator's log when all have.
var _ = SynchronizedAfterSuite(func(ctx SpecContext) {
	if kube == nil {
		return
	}
	dropAlarms(ctx)
	dropShared(ctx)
	for _, ns := range leavingNamespaces {
		Expect(kube.Namespaces().AwaitDeleted(ctx, ns)).To(Succeed())
	}
}, func(ctx SpecContext) {
	if kube == nil {
		return
	}
	Expect(secretsInLogs(ctx, harness.OperatorNamespace)).To(BeEmpty(), "secrets in the operator's logs")
	progress("no log has one of the %d secret values there were", secrets.Known())
}, NodeTimeout(6*time.Minute))

// What a failed spec leaves behind is written down before anything is cleaned up.
var _ = JustAfterEach(func(ctx SpecContext) {
	if !CurrentSpecReport().Failed() {
		return
	}
	var facts []string
	for _, ns := range slices.Backward(liveNamespaces) { // what the spec has made before what it shares
		facts = append(facts, kube.Facts(ctx, ns, CurrentSpecReport().StartTime)...)
	}
	AddReportEntry(factsEntry, firstLines(strings.Join(facts, "\n"), factLines), ReportEntryVisibilityNever)
	for _, ns := range liveNamespaces {
		kube.Dump(ctx, ns, GinkgoWriter)
	}
}, NodeTimeout(4*time.Minute))

func progress(format string, args ...any) {
	GinkgoWriter.Printf(time.Now().Format("15:04:05 ")+format+"\n", args...)
}
