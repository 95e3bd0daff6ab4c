package main

import (
	"testing"

	"github.com/galera-operator/galera-operator/internal/program"
)

func TestOptions(t *testing.T) {
	good := func() options {
		return options{operatorImage: "op", namespace: "ns", agentClusters: 1, podUsers: program.UsersAuto, logFormat: "json"}
	}
	for name, tc := range map[string]struct {
		edit func(*options)
		ok   bool
	}{
		"good":          {func(*options) {}, true},
		"log format":    {func(o *options) { o.logFormat = "console" }, false},
		"no image":      {func(o *options) { o.operatorImage = "" }, false},
		"no namespace":  {func(o *options) { o.namespace = "" }, false},
		"no agents":     {func(o *options) { o.agentClusters = 0 }, false},
		"no such users": {func(o *options) { o.podUsers = "root" }, false},
	} {
		o := good()
		tc.edit(&o)
		if err := o.check(); (err == nil) != tc.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}
