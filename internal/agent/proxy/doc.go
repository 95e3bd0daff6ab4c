// Package proxy is PID 1 of a proxy's pod. It runs ProxySQL as a child: it writes its configuration file, gives it the
// state that the operator has published, and changes it live through the admin interface, which listens on a unix
// socket only. ProxySQL listens for clients once it has a state, so that no client is refused for the lack of accounts.
//
// The state comes from a mounted Secret when the pod starts, and from the operator's requests afterwards; the one with
// the highest revision wins. Which node is written to is decided by the operator alone: ProxySQL's monitor is off.
package proxy
