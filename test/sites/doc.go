// Package sites checks the decisions about several sites together, in a simulated world: a cluster, one or two that
// follow its archive, a store, and everything in between that fails. docs/model.md describes it.
package sites
