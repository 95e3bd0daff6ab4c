package simulation

import (
	"fmt"
	"os"
	"testing"

	"github.com/galera-operator/galera-operator/internal/plan"
)

func TestTell(t *testing.T) {
	s := map[string]Schedule{"b":{Members: 2, Eager: false, Fresh: false, Events: []Event{
	{Round, 0, 0},
	{Partition, 1, 0},
	{KillAgent, 0, 0},
	{KillAgent, 1, 0},
	{Round, 0, 0},
	{Mute, 0, 0},
	{Round, 0, 0},
	{Approve, 0, 0},
	{Unmute, 0, 0},
	{Round, 0, 0},
	{Round, 0, 0},
	{Round, 0, 0},
	{Round, 0, 0},
	{Mute, 0, 0},
	{Round, 0, 0},
	{Write, 0, 0},
	{Round, 0, 0},
	{Blur, 0, 0},
}}}[os.Getenv("S")]
	fmt.Println(Tell(s, plan.Plan, 18))
}
