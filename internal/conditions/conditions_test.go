package conditions

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
)

func TestSentence(t *testing.T) {
	for message, want := range map[string]string{
		"":                             "",
		"the cluster is paused":        "The cluster is paused.",
		"the cluster is paused.":       "The cluster is paused.",
		"Free space; it then goes on":  "Free space; it then goes on.",
		"cluster's data are unknown":   "Cluster's data are unknown.",
		"waiting: the node is a donor": "Waiting: the node is a donor.",
		"shop-0 is not Synced":         "shop-0 is not Synced.",
		"spec.storage is too small":    "spec.storage is too small.",
		"wsrep_sst_donor is refused":   "wsrep_sst_donor is refused.",
		"cert-manager does not answer": "cert-manager does not answer.",
		"mariadbd does not answer":     "mariadbd does not answer.",
		"mariadbd's data are damaged":  "mariadbd's data are damaged.",
		"10 files are in clear":        "10 files are in clear.",
		"what is to become of it?":     "What is to become of it?",
		"and so on…":                   "And so on…",
		"healthy":                      "Healthy.",
		"the file ends; ":              "The file ends.",
	} {
		if got := Sentence(message); got != want {
			t.Errorf("Sentence(%q) is %q, not %q", message, got, want)
		} else if again := Sentence(got); again != got {
			t.Errorf("Sentence(%q) is %q: a sentence stays as it is", got, again)
		}
	}
}

func TestSetKeepsWithinTheLimitOfTheAPI(t *testing.T) {
	var conditions []metav1.Condition
	Set(&conditions, metav1.Condition{Type: "Ready", Status: metav1.ConditionTrue,
		Message: strings.Repeat("ü", maxMessage)})
	if m := conditions[0].Message; len(m) > maxMessage || !utf8.ValidString(m) || !strings.HasSuffix(m, "…") {
		t.Errorf("%d bytes, ending in %q", len(m), m[len(m)-8:])
	}
}

// TestEventsKeepWithinTheLimitOfTheAPI: the API server refuses longer notes, so that the event would be lost.
func TestEventsKeepWithinTheLimitOfTheAPI(t *testing.T) {
	recorder := events.NewFakeRecorder(1)
	Events{recorder}.Eventf(nil, nil, "Warning", "Refused", "Check", "%s", strings.Repeat("ä", 1000))
	note := strings.TrimPrefix(<-recorder.Events, "Warning Refused ")
	if len(note) > 1024 || !utf8.ValidString(note) || !strings.HasSuffix(note, "…") {
		t.Errorf("%d bytes, ends with %q", len(note), note[len(note)-8:])
	}
}
