import { expect, test } from '@jest/globals'
import { createMetrics } from '../../src/metrics/metrics.ts'
import { engineObserver } from '../../src/metrics/observers.ts'
import { workOnOperation } from '../../workers/operation-worker.ts'
import type { WorkerParts } from '../../workers/worker-parts.ts'
import { parseExposition } from '../metrics/exposition.ts'
import { aroundCall } from '../support/engine-doubles.ts'
import { t } from '../support/own-engine.ts'

test('a run that loses its lease during its call is retried, and counted', async () => {
  const metrics = createMetrics()
  const ref = await t.accept()
  const engine = aroundCall(
    { ...t.engine, observe: engineObserver(metrics) },
    'authorize',
    async (original) => {
      const outcome = await original()
      await t.engine.store.sql`
        update idempotency_keys set lease_epoch = lease_epoch + 1 where id = ${ref.id}
      `
      return outcome
    },
  )
  const data = { tenantId: ref.tenantId, operationId: ref.id }
  const job = { id: ref.id, data, retryCount: 0 }

  const result = await workOnOperation({ engine } as WorkerParts, job)

  expect(result).toMatchObject({ id: ref.id, status: 'failed' })
  const { value } = parseExposition(await metrics.scrape())
  expect(value('atomic_payments_leases_lost_total')).toBe(1)
  const phase = { operation: 'payment.create', phase: 'started' }
  expect(value('atomic_payments_outcomes_total', { ...phase, outcome: 'done' })).toBe(1)
  // A phase that was not recorded is not counted as completed.
  expect(value('atomic_payments_phase_duration_seconds_count', phase)).toBeUndefined()
})

test('a job whose operation is not there yet is tried again, and then completed', async () => {
  const parts = { engine: t.engine } as WorkerParts
  const data = { tenantId: t.tenantId, operationId: '01890a5d-ac96-774b-bcce-b302099a8057' }

  expect(await workOnOperation(parts, { id: 'job', data, retryCount: 7 })).toEqual({
    id: 'job',
    status: 'failed',
    output: { reason: 'absent' },
  })
  expect(await workOnOperation(parts, { id: 'job', data, retryCount: 8 })).toEqual({
    id: 'job',
    status: 'completed',
  })
})
