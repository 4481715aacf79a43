// The operator of a run: a person who says what the service cannot prove. A refund whose failure the
// provider keeps, or whose key it may have forgotten, may still be completed at any time. It stays
// unknown until an operator says that it did not happen. This operator always says so and never
// looks: the service must.
import { randomUUID } from 'node:crypto'
import { setTimeout as wait } from 'node:timers/promises'
import { requestCheckIfUnknown } from '../../src/db/operations/unknown-outcomes.ts'
import type { Lane, LaneTenant } from './lane.ts'

const POLL_MS = 500

/** No call of a run is executed or completed later. */
const SETTLE_MS = 3_000

const CLAIM = {
  claim: randomUUID(),
  proved_absent: true,
  by: 'operator',
  note: 'I did not see it',
} as const

/** Acts as the operator while the work runs. */
export async function withOperator<Result>(
  lane: Lane,
  tenant: LaneTenant,
  work: () => Promise<Result>,
): Promise<Result> {
  const over = new AbortController()
  const acting = act(lane, tenant, over.signal)
  try {
    return await work()
  } finally {
    over.abort()
    await acting
  }
}

async function act(lane: Lane, tenant: LaneTenant, signal: AbortSignal): Promise<void> {
  for (;;) {
    await wait(POLL_MS, undefined, { signal }).catch(() => {})
    if (signal.aborted) return
    // The store may be away; the operator tries again.
    await denyRefunds(lane, tenant).catch(() => {})
  }
}

async function denyRefunds({ owner: { sql } }: Lane, tenant: LaneTenant): Promise<void> {
  const unknown = await sql<{ id: string }[]>`
    select id from idempotency_keys
    where tenant_id = ${tenant.id} and status = 'unknown'
      and refund_id is not null and evidence is null
      and unknown_at < now() - ${SETTLE_MS} * interval '1 millisecond'
  `
  for (const { id } of unknown) await requestCheckIfUnknown(sql, { tenantId: tenant.id, id }, CLAIM)
}
