// Package model is a simulated cluster on which the planner and the agents' decisions are checked: members
// with disks, agents that carry out orders, Galera's groups and quorum, a network, a kubelet, an API
// server with caches in front of it, operators that are killed and that overlap, and users.
//
// The world is a plain comparable value and takes one Event at a time; everything that can
// happen is an Event, so that a schedule of events is a complete, repeatable story. After every
// event the invariants are checked. docs/model.md lists the rules and the promises.
//
// Where the behaviour of Galera or Kubernetes is not certain the world is the less friendly one:
// a planner that is safe here is safe there too.
package model
