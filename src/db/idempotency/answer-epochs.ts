// The epoch of stored responses. A completed response changes only when it is dropped, and each drop
// begins a new epoch in its own transaction: what was copied in an earlier epoch is not valid any more.
import type { Sql, Transaction } from '../connection/client.ts'
import { RESPONSES_DROPPED_CHANNEL } from '../connection/notifications.ts'
import { readServer } from '../connection/server/server.ts'

/** Begins a new epoch, and announces it when the transaction commits. */
export async function advanceAnswerEpoch(tx: Transaction): Promise<void> {
  await tx`
    insert into answer_epochs (id, epoch) values (1, 1)
    on conflict (id) do update set epoch = answer_epochs.epoch + 1
    returning pg_notify(${RESPONSES_DROPPED_CHANNEL}, '') as announced
  `
}

/**
 * Names the current epoch. The name also changes when the server starts, is promoted or is restored from
 * a backup: an answer that it forgot is not valid any more.
 */
export async function readAnswerEpoch(sql: Sql): Promise<string> {
  const { cluster, timeline, startedAt } = await readServer(sql)
  const [row] = await sql<{ epoch: string }[]>`select epoch::text from answer_epochs where id = 1`
  return [cluster, timeline, startedAt, row?.epoch ?? '0'].join(' ')
}
