// Package api is the agent's side of its network API. It serves three ports: the control port, which only
// the operator may call, and the probe port, where nothing is secret and nothing can be changed. An Asker asks the
// other members what they are, and Peers holds what they answered. A ReportStore keeps the agent's Report and wakes
// those who wait for it to change.
package api
