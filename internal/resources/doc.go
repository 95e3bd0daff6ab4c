// Package resources renders every child object of a GaleraCluster. Its functions are pure: the
// same spec gives the same bytes, and nothing here reads the API, the clock or the machine.
//
// Every object carries its apiVersion and kind, because all of them are server-side-applied, on
// every pass; a field that is left out here belongs to another field manager.
package resources
