// Has the worker of a lane compare its records with the provider's.
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { setTimeout as wait } from 'node:timers/promises'
import { requestReconciliation } from '../../src/db/reconciliation/reconciliation-runs.ts'
import { RECONCILIATIONS_QUEUE } from '../../src/db/queue/jobs.ts'
import { createJobWaker } from '../../src/db/connection/notifications.ts'
import { type Merchant } from './merchant.ts'
import { RECOVERY_LIMIT_MS } from './bounds.ts'
import { poll } from './poll.ts'

const HOUR_MS = 60 * 60 * 1_000

/** The times of the provider's records are in whole seconds. */
const SECOND_MS = 1_000

/**
 * The start of a window without the fees of the bystander, because nothing of its data may change.
 */
export async function windowStart({ signal }: Merchant): Promise<Date> {
  await wait(SECOND_MS, undefined, { signal })
  return new Date(Math.floor(Date.now() / SECOND_MS) * SECOND_MS)
}

export const hoursFrom = (hours: number) => new Date(Date.now() + hours * HOUR_MS)

/** Has the worker carry out the runs at once. */
export async function compare(
  { lane, signal, violations }: Merchant,
  windows: readonly { readonly from: Date; readonly to: Date }[],
): Promise<void> {
  const { sql } = lane.owner
  const request = { provider: 'stripe', requestedBy: 'fault suite' }
  const runs = await Promise.all(
    windows.map((window) =>
      inTransaction(sql, (tx) => requestReconciliation(tx, { ...request, ...window })),
    ),
  )
  const ids = runs.map((run) => run.id)
  const haveEnded = async () => {
    createJobWaker(sql, () => {}, RECONCILIATIONS_QUEUE)()
    const open = await sql`
      select from reconciliation_runs where id = any(${ids}) and status <> 'completed'
    `
    return open.length === 0
  }
  if (await poll(RECOVERY_LIMIT_MS, haveEnded, { signal })) return
  violations.push({ invariant: 7, what: 'a reconciliation did not end' })
}
