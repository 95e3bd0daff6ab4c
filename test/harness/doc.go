// Package harness is what the end-to-end tests and the benchmarks share: a real Kubernetes made of
// containers, real database clients, faults, and a look at the packets on the wire. It asserts
// nothing: functions return errors and facts, and their callers judge them.
package harness
