// Package lifecycle holds what an agent decides about its own mariadbd: when it is started, stopped, given up or
// killed; which component it may join, with which data and from which donors; and how long it waits between two
// attempts.
//
// It is pure: time and all facts come in as parameters, plain data come out, and nothing is done. The agent acts on it,
// and the model (test/model) runs the same functions.
//
// # Stalled state transfers
//
// These are the rules that decide when a state transfer has stalled. The limit is spec.stateTransfer.stallTimeout
// (NodeConfig.StateTransfer.Stall, 10 min by default) unless the table names another one. The agent's failure is
// TransferStalled; the condition shows it with the reason TransferFailed. The condition Stalled is something else:
// manual action is required.
//
//	who watches, what        signal                                           limit                          effect
//	joiner, SST              no byte, no next phase, and during the           stallTimeout                   kills its mariadbd (never Synced, so no
//	(Stalled)                preparation no work of mariadb-backup                                           write is lost): TransferStalled; another
//	                                                                                                         donor is asked first, after a longer wait
//	joiner, IST              nothing received on port 4568, nothing           stallTimeout, at every         the same
//	(ISTWatch)               received unread, and its position unchanged      observation without a break
//	donor, any script        the joiner owes a TCP ACK, and is silent         stallTimeout                   ends its transfer script with SIGTERM, at
//	(JoinerWatch)                                                                                            the next observation with SIGKILL; mariadbd
//	                                                                                                         goes on and serves again
//	donor, any script        the joiner is silent and owes no ACK             stallTimeout + 1 min, at       the same
//	(JoinerWatch)                                                             least 4 min
//	donor                    Donor in a Primary component, though the script  20 s                           reports it (stuckDonor) to the operator, who
//	(Donation)               ended while it had no quorum                                                    restarts it in its turn
//
// Any script of a donor: the one that accompanies IST (--bypass), too. The joiner's rules are not judged while its
// volume is frozen: no transfer can progress then, so that a new attempt would not help. The SST rule ends when
// mariadbd starts with the data. A progressing transfer is never interrupted.
//
// In addition: a joiner without a component to join is given up (lifecycle.GiveUp), one in a transfer does not count as
// hung (lifecycle.JudgeHang), and the wait before the next attempt is lifecycle.TransferBackoff.
package lifecycle
