package simulation

import (
	"fmt"
	"os"
	"testing"

	"github.com/galera-operator/galera-operator/internal/plan"
)

func TestTell(t *testing.T) {
	s := map[string]Schedule{"a": {Members: 3, Eager: true, Fresh: true, Events: []Event{
		{Round, 0, 0},
		{Round, 0, 0},
		{Round, 0, 0},
		{Round, 0, 0},
		{Round, 0, 0},
		{Round, 0, 0},
		{Agent, 0, 0},
		{Write, 0, 0},
		{Swap, 0, 0},
	}},
		"b": {Members: 3, Eager: true, Fresh: false, Events: []Event{
			{KillAll, 0, 0},
			{MachineAway, 2, 0},
			{Drain, 1, 0},
			{Round, 0, 0},
			{Approve, 0, 0},
			{Save, 0, 0},
			{Mute, 0, 1},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{RollBack, 0, 0},
			{Round, 0, 0},
		}},
		"c": {Members: 3, Eager: false, Fresh: false, Events: []Event{
			{KillAll, 0, 0},
			{Blur, 2, 0},
			{Round, 0, 0},
			{Approve, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Write, 0, 0},
			{Blur, 1, 0},
		}},
		"d": {Members: 3, Eager: true, Fresh: false, Events: []Event{
			{Suspend, 0, 0},
			{Upgrade, 0, 0},
			{Round, 0, 0},
			{Round, 0, 0},
			{Mute, 0, 2},
			{Suspend, 0, 0},
			{LookAround, 0, 0},
			{Reconcile, 0, 0},
			{Round, 0, 0},
		}}}[os.Getenv("S")]
	fmt.Println(Tell(s, plan.Plan, 18))
}
