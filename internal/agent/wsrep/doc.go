// Package wsrep queries a running mariadbd over its unix socket, and sends it the few
// commands an agent may send.
//
// A Notification carries wsrep_notify_cmd's call from the short-lived process mariadbd starts to the
// running agent, so that a change is seen when it happens and not at the next poll. A WindowTuner measures how far the
// other members are, and sets the send windows that follow from it: how many messages of the group may be on their way
// at once.
package wsrep
