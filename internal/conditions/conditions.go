// Package conditions writes what users read in conditions and events: as sentences.
package conditions

import (
	"fmt"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
)

// Set sets a condition, with its message as a sentence. Nothing else sets a condition.
func Set(conditions *[]metav1.Condition, c metav1.Condition) (changed bool) {
	c.Message = within(Sentence(c.Message), maxMessage)
	return meta.SetStatusCondition(conditions, c)
}

// The API server's limits of a condition's message and of an event's note, in bytes. It refuses longer ones.
const (
	maxMessage = 32768
	maxNote    = 1024
)

func within(message string, limit int) string {
	if len(message) <= limit {
		return message
	}
	return strings.ToValidUTF8(message[:limit-len("…")], "") + "…"
}

// plainFirst is a first word that may get a capital: names of nodes, fields and settings have other characters.
var plainFirst = regexp.MustCompile(`^[a-z]+('s)?[,:]?( |$)`)

// programs are written in lower case wherever they stand.
var programs = []string{"mariadbd", "garbd", "kubelet", "mysqld"}

// Sentence returns a message with a capital and a full stop. Messages are put together from parts, which have neither:
// what the planner, an agent, a store or the API server reports goes on in the middle of another sentence.
func Sentence(message string) string {
	message = strings.TrimRight(message, " \n;,")
	if message == "" {
		return ""
	}
	if first := plainFirst.FindString(message); first != "" && !isProgram(first) {
		message = strings.ToUpper(message[:1]) + message[1:]
	}
	if strings.ContainsAny(message[len(message)-1:], ".!?") || strings.HasSuffix(message, "…") {
		return message
	}
	return message + "."
}

func isProgram(word string) bool {
	for _, p := range programs {
		if strings.HasPrefix(word, p) {
			return true
		}
	}
	return false
}

// Events is a recorder whose messages are sentences.
type Events struct{ events.EventRecorder }

// Eventf records an event.
func (e Events) Eventf(regarding, related runtime.Object, kind, reason, action, note string, args ...any) {
	e.EventRecorder.Eventf(regarding, related, kind, reason, action, "%s",
		within(Sentence(fmt.Sprintf(note, args...)), maxNote))
}
