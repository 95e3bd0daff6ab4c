package status

import (
	"fmt"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	corev1 "k8s.io/api/core/v1"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/agentapi"
	"github.com/galera-operator/galera-operator/internal/plan"
	"github.com/galera-operator/galera-operator/internal/resources"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// check finds one kind of problem.
type check func(Input) *validate.Problem

// checks in order of priority: first errors in the spec, then what is missing around the cluster, then
// what nodes report, and last volumes that do not keep nodes from serving.
var checks = []check{
	failedPass,
	superseded,
	switchingSite,
	leaseEnded,
	forbiddenSettings,
	imageRefused,
	podMetadataRefused,
	rootSecret,
	keysRefused,
	issuer,
	certificate,
	storageClass,
	heldClaim,
	scheduling,
	imagePull,
	image,
	strangers,
	arbitratorProblem,
	configuration,
	memberKeys,
	decision,
	blockedStatement,
	promotionRefused,
	channelProblem,
	refusedWrite,
	certManager,
	renewalRefused,
	requestRefused,
	leaseEnding,
	memberFailure,
	sidecar,
	volumes,
	expanding,
}

// firstProblem returns the most important problem, nil when there is none. What requires manual action comes before
// what passes.
func firstProblem(in Input) *validate.Problem {
	all := problems(in)
	for _, p := range all {
		if p.Blocked {
			return p
		}
	}
	if len(all) > 0 {
		return all[0]
	}
	return nil
}

// problems are all that there are, in order of priority. While a pass fails, or a restore runs, nothing else is known.
func problems(in Input) []*validate.Problem {
	var out []*validate.Problem
	for _, c := range checks {
		if p := c(in); p != nil {
			out = append(out, p)
		}
		if in.Failed != nil {
			break
		}
	}
	return out
}

func failedPass(in Input) *validate.Problem { return in.Failed }

func podMetadataRefused(in Input) *validate.Problem { return in.PodMetadataRefused }

func keysRefused(in Input) *validate.Problem { return in.KeysRefused }

// refusedWrite comes after what says more of the cause, and of what keeps nodes from serving.
func refusedWrite(in Input) *validate.Problem { return in.RefusedWrite }

// certManager comes after what keeps nodes from serving: they continue with their certificates.
func certManager(in Input) *validate.Problem { return in.CertManager }

func renewalRefused(in Input) *validate.Problem { return in.RenewalRefused }

func requestRefused(in Input) *validate.Problem { return in.RequestRefused }

func forbiddenSettings(in Input) *validate.Problem { return validate.Settings(in.cluster(), in.Config) }

// rootSecretProblem describes what is wrong with the Secret that holds root's password.
func rootSecretProblem(s *corev1.Secret) *validate.Problem {
	if s == nil || len(s.Data[agentapi.RootPasswordKey]) > 0 {
		return nil
	}
	return blocking(v1alpha1.ReasonSecretWrongKind,
		fmt.Sprintf(
			"the Secret %q has no key %q; add the root password under this key, or delete the Secret to have a password "+
				"generated", s.Name, agentapi.RootPasswordKey))
}

func rootSecret(in Input) *validate.Problem { return rootSecretProblem(in.Facts.Root) }

// issuer reports a missing or unready issuer while there is no certificate.
func issuer(in Input) *validate.Problem {
	ref := in.cluster().Spec.TLS.IssuerRef
	if ref == nil || in.Published != nil {
		return nil
	}
	if in.Facts.Issuer == nil {
		if in.Facts.Issued != nil {
			return nil
		}
		return blocking(v1alpha1.ReasonIssuerNotFound,
			fmt.Sprintf("spec.tls.issuerRef names the %s %q, which does not exist; create it, or correct the name", ref.Kind,
				ref.Name))
	}
	for _, c := range in.Facts.Issuer.Conditions {
		if c.Type == certmanagerv1.IssuerConditionReady && string(c.Status) != "True" {
			return blockingWith(v1alpha1.ReasonIssuerNotReady, describeIssuer(ref, in.cluster().Namespace),
				"the %s %q is not ready: %s. Fix the issuer; the certificate is then issued automatically", ref.Kind, ref.Name,
				c.Message)
		}
	}
	return nil
}

// describeIssuer is the command that shows an issuer. A ClusterIssuer has no namespace.
func describeIssuer(ref *v1alpha1.IssuerReference, namespace string) string {
	words := []string{"describe", strings.ToLower(ref.Kind), ref.Name}
	if ref.Kind != "ClusterIssuer" {
		words = append(words, "-n", namespace)
	}
	return kubectl(words...)
}

func certificate(in Input) *validate.Problem {
	if in.Refused != nil {
		return in.Refused
	}
	if in.Published == nil && in.CertManager != nil {
		return in.CertManager
	}
	if in.Published == nil {
		return passing(v1alpha1.ReasonCertificatePending, "waiting for cert-manager to issue the nodes' certificate"+
			certificateMessage(in))
	}
	if in.Now.After(in.Published.NotAfter) {
		return blockingWith(v1alpha1.ReasonCertificateExpired, kubectl("describe", "certificate", "-n",
			in.cluster().Namespace),
			"the nodes' certificate expired at %s and cert-manager has not renewed it%s",
			in.Published.NotAfter.UTC().Format("2006-01-02 15:04:05"), certificateMessage(in))
	}
	return nil
}

func certificateMessage(in Input) string {
	if in.Facts.Certificate == nil {
		return ""
	}
	for _, c := range in.Facts.Certificate.Status.Conditions {
		if c.Type == certmanagerv1.CertificateConditionReady && string(c.Status) != "True" && c.Message != "" {
			return ": " + c.Message
		}
	}
	return ""
}

func storageClass(in Input) *validate.Problem {
	if in.Facts.StorageClassProblem == "" {
		return nil
	}
	return blocking(v1alpha1.ReasonStorageClassMissing, in.Facts.StorageClassProblem)
}

func scheduling(in Input) *validate.Problem {
	for _, p := range pods(in) {
		for _, c := range p.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
				return blocking(v1alpha1.ReasonUnschedulable, fmt.Sprintf(
					"%s cannot be scheduled: %s. Add hosts or capacity, or relax spec.scheduling and spec.resources", p.Name,
					c.Message))
			}
		}
	}
	return nil
}

// configuration reports an agent that refuses the published configuration, or cannot use it.
func configuration(in Input) *validate.Problem {
	for _, m := range in.Snapshot.Members {
		if r := in.report(m.Name); r != nil && r.Config.Problem != "" {
			reason, advice := configAdvice(in, r.Config.Reason)
			return blocking(reason, fmt.Sprintf("%s: %s. %s; until then %s", m.Name, r.Config.Problem, advice,
				"the nodes keep the last accepted configuration"))
		}
	}
	return nil
}

// configAdvice is what to do about a configuration that an agent has not loaded.
func configAdvice(in Input, why agentapi.ConfigReason) (reason, advice string) {
	published := resources.ConfigMapName(in.cluster())
	switch why {
	case agentapi.ConfigUnchecked:
		return v1alpha1.ReasonMemberFailed, "Give the node's host more processor time or faster storage. The settings are " +
			"checked again by themselves"
	case agentapi.ConfigUnreadable:
		return v1alpha1.ReasonMemberFailed, "Check that the ConfigMap " + published + " exists and is mounted (kubectl " +
			"describe pod)"
	case agentapi.ConfigInvalid:
		return v1alpha1.ReasonMemberFailed, "Check who else writes the ConfigMap " + published + ", and that operator and " +
			"nodes are of one release"
	case agentapi.ConfigNotWritten:
		return v1alpha1.ReasonMemberFailed, "Check the storage of the node's host"
	}
	return v1alpha1.ReasonSettingsRefused, "Correct spec.mariadb.config"
}

// decision reports a planner's decision that requires manual action.
func decision(in Input) *validate.Problem {
	if !in.Decision.Blocked {
		return nil
	}
	d, c := in.Decision, in.cluster()
	p := blocking(d.Reason, d.Message)
	switch p.Approval = approvalOf(d.Approval); {
	case p.Approval != nil:
		p.Command = approve(in, p.Approval)
	case d.DeletePod != "":
		p.Command = kubectl("delete", "pod", d.DeletePod, "-n", c.Namespace)
	case d.Reason == plan.ReasonDataLost:
		p.Command = kubectl("get", "galerabackups", "-n", c.Namespace)
	}
	return p
}

// pods in ordinal order, so that the same problem is reported every time.
func pods(in Input) []*corev1.Pod {
	var out []*corev1.Pod
	for _, m := range in.Snapshot.Members {
		if p := in.Facts.Pods[m.Name]; p != nil {
			out = append(out, p)
		}
	}
	if p := in.Facts.ArbitratorPod; p != nil {
		out = append(out, p)
	}
	return out
}
