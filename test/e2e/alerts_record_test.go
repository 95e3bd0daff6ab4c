package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	. "github.com/onsi/gomega"

	"github.com/galera-operator/galera-operator/internal/plugin"
	"github.com/galera-operator/galera-operator/test/harness"
)

// related is what the runbook of an alert shows in addition to the screen; NS and NAME are the cluster's.
var related = map[string][]string{
	"GaleraArchiveBehind": {"kubectl get galera NAME -n NS -o jsonpath={.status.backup}",
		"kubectl get pods -n NS -l app.kubernetes.io/component=archiver"},
	"GaleraArchiveGap": {"kubectl get galera NAME -n NS -o jsonpath={.status.backup}",
		"kubectl get gbackup -n NS"},
	"GaleraBackupStoreUnreachable": {"kubectl get gstore -n NS -o wide"},
	"GaleraBackupTooOld":           {"kubectl get gsched,gbackup -n NS"},
	"GaleraBackupUnverified":       {"kubectl get gbackup -n NS -o wide"},
	"GaleraCertificateExpiring":    {"kubectl get certificate,certificaterequest -n NS"},
	"GaleraEncryptionUnproved":     {`kubectl get galera NAME -n NS -o jsonpath={.status.conditions[?(@.type=="Encrypted")].message}`},
	"GaleraCAExpiring":             {`kubectl get galera NAME -n NS -o jsonpath={range .status.tls.trustedCAs[*]}{.state} {.notAfter} {.subject} {.fingerprint}{"\n"}{end}`},
	"GaleraCacheWindowShort":       {`kubectl get galera NAME -n NS -o jsonpath={range .status.members[*]}{.name} {.cache}{"\n"}{end}`},
	"GaleraOldCATrusted":           {`kubectl get galera NAME -n NS -o jsonpath={range .status.tls.trustedCAs[*]}{.state} {.notAfter} {.subject} {.fingerprint}{"\n"}{end}`},
	"GaleraOperatorAbsent":         {"kubectl get pods,lease -n galera-operator-system"},
	"GaleraMetricsMissing": {"kubectl get podmonitor -n galera-operator-system galera-operator-databases -o " +
		"jsonpath={.spec.selector}", "kubectl get pods -n NS --show-labels"},
	"GaleraNodesMissing":     {"kubectl get pods -n NS -o wide"},
	"GaleraAgentUnreachable": {"kubectl get pods -n NS"},
	"GaleraVolumeFilling":    {"kubectl exec -n NS NAME-0 -c mariadb -- df -h /var/lib/mysql"},
	"GaleraVolumeFull":       {"kubectl exec -n NS NAME-0 -c mariadb -- df -h /var/lib/mysql"},
}

// asked are the queries that the runbook of an alert names.
var asked = map[string][]string{
	"GaleraCertificationConflicts": {
		`sum by (pod) (rate(mysql_global_status_wsrep_local_cert_failures{namespace="NS",cluster="NAME"}[1m]))`,
		`sum by (pod) (rate(mysql_global_status_wsrep_local_bf_aborts{namespace="NS",cluster="NAME"}[1m]))`,
	},
	"GaleraFlowControl": {
		`topk(1, rate(mysql_global_status_wsrep_flow_control_sent{namespace="NS",cluster="NAME"}[1m]))`,
		`mysql_global_status_wsrep_local_recv_queue{namespace="NS",cluster="NAME"}`,
	},
}

// record prints what a person sees at the moment an alert fires, and writes it to the folder that RUNBOOK_OUTPUT names:
// the runbooks quote it.
func (a *alarms) record(ctx context.Context, c *harness.Cluster, alert string) {
	var out bytes.Buffer
	name, namespace := "", ""
	if c != nil {
		name, namespace = c.Name, c.Namespace
		fmt.Fprintf(&out, "$ kubectl galera status %s\n", name)
		root := plugin.New(&out, &out)
		root.SetArgs([]string{"status", name, "-n", namespace, "--context", kube.Context})
		_ = root.ExecuteContext(ctx) // the cluster is in trouble, and its screen may say so by an error
	}
	progress("%s\n%s", alert, &out)
	folder := os.Getenv("RUNBOOK_OUTPUT")
	if folder == "" {
		return
	}
	names := strings.NewReplacer("NAME", name, "NS", namespace)
	for _, query := range asked[alert] {
		result, _, err := a.API.Query(ctx, names.Replace(query), time.Now())
		Expect(err).NotTo(HaveOccurred(), query)
		fmt.Fprintf(&out, "\n%s\n%s\n", query, result)
	}
	for _, command := range related[alert] {
		words := strings.SplitN(command, " -o jsonpath=", 2)
		args := strings.Fields(names.Replace(words[0]))
		if len(words) > 1 {
			args = append(args, "-o", "jsonpath="+words[1])
		}
		args = append([]string{args[0], "--context", kube.Context}, args[1:]...)
		text, err := exec.CommandContext(ctx, args[0], args[1:]...).CombinedOutput() //nolint:gosec // the commands above
		fmt.Fprintf(&out, "\n$ %s\n%s", command, text)
		if err != nil {
			fmt.Fprintln(&out, err)
		}
	}
	fmt.Fprintf(&out, "\nalert\n%s\n", a.value(ctx, alert, namespace))
	Expect(os.WriteFile(filepath.Join(folder, alert+".txt"), out.Bytes(), 0o644)).
		To(Succeed()) //nolint:gosec // for people
}

// value are the results of an alert's expression, as Prometheus has them at the moment.
func (a *alarms) value(ctx context.Context, alert, namespace string) string {
	loaded, err := a.API.Alerts(ctx)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, x := range loaded.Alerts {
		if string(x.Labels["alertname"]) == alert && x.Labels[hasty] != "" &&
			(namespace == "" || string(x.Labels["namespace"]) == namespace) {
			lines = append(lines, fmt.Sprintf("%s %s = %s: %s", x.Labels, x.State, x.Value, x.Annotations["description"]))
		}
	}
	return strings.Join(lines, "\n")
}
