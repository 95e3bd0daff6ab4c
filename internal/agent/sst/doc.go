// Package sst holds every rule about a state transfer that stands still. It is pure: looks and time come in, a judgement comes out,
// and the agent acts on it. The limit is spec.stateTransfer.stallTimeout (NodeConfig.StateTransfer.Stall, 10 min by default) unless
// another one is named.
//
//	who watches            signal                                             limit                          effect
//	joiner, full copy      no byte, no next phase, and while the copy is      stallTimeout                   kills its mariadbd (it has served
//	(CopyStalled)          prepared no work of mariadb-backup                                                nobody): TransferStalled; another donor
//	                                                                                                         is asked first, after a longer wait
//	joiner, IST            nothing comes over the connection on port 4568,    stallTimeout, at every look    the same
//	(ISTWatch)             and its position stands still                      without a break
//	donor, full copy       the joiner owes a TCP ACK, and is silent           stallTimeout                   ends its transfer script with SIGTERM, at
//	(JoinerWatch)                                                                                            the next look with SIGKILL; mariadbd
//	                                                                                                         goes on and serves again
//	donor, full copy       the joiner is silent and owes no ACK               stallTimeout + 1 min, at       the same
//	(JoinerWatch)                                                             least 4 min
//	donor, any             Donor in a Primary component, though the script    20 s                           tells the operator (stuckDonor), who
//	(Donation)             ended while it had no quorum                                                      restarts it in its turn
//
// Nothing is judged while the volume is frozen: no transfer goes on there, and none would by a new attempt. A joiner that applies
// write-sets is not judged by the copy's rule any more. A progressing transfer is never interrupted.
//
// Beside these: a joiner that has no component to join any more is given up (lifecycle.GiveUp), one that is in a transfer does not
// count as hung (lifecycle.JudgeHang), and the wait before the next attempt is lifecycle.TransferBackoff.
package sst
