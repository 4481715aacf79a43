// The operator of a run: a person who proves what the service cannot. A refund whose failure the
// provider keeps may still be completed at any time. It stays unknown until somebody says that it
// did not happen.
import { setTimeout as wait } from 'node:timers/promises'
import { requestCheckIfUnknown } from '../../src/db/operations/unknown-outcomes.ts'
import type { Lane, LaneTenant } from './lane.ts'

const POLL_MS = 500

/** No request of a run is on its way for longer. */
const SETTLE_MS = 2_000

const PROOF = {
  proved_absent: true,
  by: 'operator',
  note: 'not in the log of the provider',
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
    // The store or the provider may be away; the operator tries again.
    await proveAbsences(lane, tenant).catch(() => {})
  }
}

async function proveAbsences(
  { owner: { sql }, provider }: Lane,
  tenant: LaneTenant,
): Promise<void> {
  const unknown = await sql<{ id: string }[]>`
    select id from idempotency_keys
    where tenant_id = ${tenant.id} and status = 'unknown' and failure_kept
      and refund_id is not null and evidence is null
      and unknown_at < now() - ${SETTLE_MS} * interval '1 millisecond'
  `
  if (unknown.length === 0) return
  const executed = await provider.listExecuted()
  for (const { id } of unknown) {
    if (executed.some(({ metadata }) => metadata['atomic_operation'] === id)) continue
    await requestCheckIfUnknown(sql, { tenantId: tenant.id, id }, PROOF)
  }
}
