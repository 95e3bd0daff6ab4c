// Package controllers holds one package per resource, all of one pattern; a new resource copies it.
//
//   - Reconciler is a struct with its client, a reader past the cache (Live), the parts it acts through, and a clock
//     (Now). The zero value of everything else is ready for use. SetupWithManager wires it, with retry.BackOff as the
//     rate limiter.
//   - Reconcile is one pass and waits for nothing: get the resource; observe (read everything the decision needs into
//     one struct of facts); decide by a pure function that lives below internal/ (plan for clusters, bench for
//     benchmarks) and gives one action or the reason for waiting; carry out that action; write the status once, when it
//     differs.
//   - Intent is in the status before the act; a step is done when the next pass observes it done. So a pass may end
//     anywhere.
//   - Children are applied by server-side apply with an owner reference, and with labels that name their owner and
//     purpose. What owner references do not reach has a finalizer, which is removed when the last of it is gone.
//   - What a user can fix is a condition with a reason and a sentence, not an error; errors are what a retry fixes.
//   - Pure parts have table tests next to them; the reconcilers are tested in test/api, against a real API server.
package controllers
