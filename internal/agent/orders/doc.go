// Package orders holds the operator's orders.
//
// Policy (judge.go, content.go) is pure: Judge judges a new order against the order book and the member's own facts,
// and each event changes the book's Content by a function of it. The model runs these as they are.
//
// A Book is one file on the volume that remembers what this member has been ordered to do. A Store holds what is on
// being written to the book, which order is being carried out, and which ends are still to be recorded; the event loop
// goes by what is on the disk. The agent's Executor carries orders out.
package orders
