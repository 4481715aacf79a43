// Waits until no job is due or in progress, so that no measurement affects the next one.
import { setTimeout as delay } from 'node:timers/promises'
import type { Sql } from '../../src/db/connection/client.ts'
import { JOB_SCHEMA } from '../../src/db/queue/queues.ts'

const QUIET_LIMIT_MS = 120_000
const QUIET_POLL_MS = 100

export async function untilQuiet(owner: Sql, signal: AbortSignal): Promise<void> {
  const limit = AbortSignal.timeout(QUIET_LIMIT_MS)
  for (;;) {
    const [row] = await owner<{ left: boolean }[]>`
      select exists (
        select from ${owner(JOB_SCHEMA)}.job
        where name in ('operations', 'webhook-deliveries')
          and state <= 'active' and start_after <= now()
      ) as left
    `
    if (row?.left !== true) return
    if (limit.aborted) throw new Error('the workers have left jobs of the noise')
    await delay(QUIET_POLL_MS, undefined, { signal })
  }
}
