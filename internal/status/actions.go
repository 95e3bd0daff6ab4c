package status

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"

	v1alpha1 "github.com/galera-operator/galera-operator/api/v1alpha1"
	"github.com/galera-operator/galera-operator/internal/conditions"
	"github.com/galera-operator/galera-operator/internal/galera"
	"github.com/galera-operator/galera-operator/internal/validate"
)

// maxActions is the limit of status.requiredActions.
const maxActions = 16

// requiredActions are what the cluster needs a person for, the most urgent first. This is the only place that makes
// them: the condition Stalled, the plugin and alerts read the list.
func requiredActions(in Input, unseen bool) []v1alpha1.RequiredAction {
	var out []v1alpha1.RequiredAction
	add := func(p *validate.Problem) {
		message := clip(conditions.Sentence(p.Message), 32768)
		known := slices.ContainsFunc(out, func(a v1alpha1.RequiredAction) bool {
			return a.Reason == p.Reason && a.Message == message
		})
		if len(out) < maxActions && !known {
			out = append(out, v1alpha1.RequiredAction{Reason: p.Reason, Message: message,
				Approval: p.Approval, Command: p.Command})
		}
	}
	for _, p := range problems(in) {
		if p.Blocked {
			add(p)
		}
	}
	switch {
	case len(out) > 0:
	case in.Withheld:
		add(&validate.Problem{Reason: v1alpha1.ReasonPaused, Message: withheld(in), Command: unpause(in)})
	case unseen:
		add(&validate.Problem{Reason: v1alpha1.ReasonPaused, Message: "the current spec has not been applied " +
			"because the cluster is paused. " + letAct, Command: unpause(in)})
	}
	if p := dropOldCA(in); p != nil {
		add(p)
	}
	return out
}

// stalls returns the first action for which the cluster is Stalled. The removal of a replaced CA waits because the spec
// asks for it.
func stalls(actions []v1alpha1.RequiredAction) (v1alpha1.RequiredAction, bool) {
	if len(actions) == 0 || actions[0].Reason == v1alpha1.ReasonOldCATrusted {
		return v1alpha1.RequiredAction{}, false
	}
	return actions[0], true
}

// brief is the first part of a message: what is wrong, for the conditions other than Stalled, which has all of it.
func brief(p *validate.Problem) string {
	text := p.Message
	for _, end := range []string{"; ", ". "} {
		text, _, _ = strings.Cut(text, end)
	}
	return clip(strings.TrimSuffix(text, "."), 512) + "; manual action is required: see the condition Stalled"
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9@%+=:,./_-]+$`)

// kubectl is a command line that a shell reads as exactly these words.
func kubectl(words ...string) string {
	var b strings.Builder
	b.WriteString("kubectl")
	for _, w := range words {
		if !plainWord.MatchString(w) {
			w = "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
		}
		b.WriteString(" " + w)
	}
	return b.String()
}

var historyUUID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$`)

// approvalOf is the approval that a decision asks for, in the API's form; nil if it asks for none, or for one that the
// API would not admit.
func approvalOf(a *galera.Approval) *v1alpha1.RecoveryApproval {
	if a == nil || !historyUUID.MatchString(a.Position.UUID) || a.Position.UUID == galera.ZeroUUID ||
		a.Position.Seqno < 0 || a.Epoch < 1 {
		return nil
	}
	out := &v1alpha1.RecoveryApproval{Member: a.Member, History: a.Position.UUID, Seqno: a.Position.Seqno, Epoch: a.Epoch}
	for as, names := range map[galera.GivenUpAs][]string{galera.Gone: a.Without, galera.StillRunning: a.Running,
		galera.Unable: a.Unable} {
		for _, name := range names {
			out.Without = append(out.Without, v1alpha1.GivenUpMember{Name: name, As: string(as)})
		}
	}
	if len(out.Without) == 0 {
		return nil
	}
	slices.SortFunc(out.Without, func(a, b v1alpha1.GivenUpMember) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// approve is the command that gives an approval.
func approve(in Input, a *v1alpha1.RecoveryApproval) string {
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"recovery": map[string]any{"approval": a}}})
	if err != nil {
		panic(err) // strings and numbers
	}
	c := in.cluster()
	return kubectl("patch", "galera", c.Name, "-n", c.Namespace, "--type=merge", "-p", string(patch))
}
