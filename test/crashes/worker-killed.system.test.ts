import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals'
import { get, paymentBody, postPayment } from '../support/client.ts'
import { expectLedgerBalanced } from '../support/ledger.ts'
import { startService, type OwnService, type Tenant } from '../support/service.ts'
import { until } from '../support/until.ts'

let service: OwnService
let tenant: Tenant

beforeAll(async () => {
  service = await startService()
  tenant = await service.createTenant()
})

afterEach(() => expectLedgerBalanced(service.store))

afterAll(() => service.stop())

test.each([
  ['authorized', 'payment_intent.create', '/v1/payment_intents'],
  ['captured', 'payment_intent.capture', '/v1/payment_intents/*/capture'],
])(
  'a worker that is killed right after the provider %s leaves one charge, and a successor completes it',
  async (_done, kind, path) => {
    const key = randomUUID()
    await service.control('POST', 'faults', { match: { path }, fault: 'hang_after' })
    const worker = await service.startWorker()
    const other = service.worker
    // One worker is paused, so that it is known which worker runs the job.
    other.kill('SIGSTOP')
    try {
      const accepted = await postPayment(service.apiUrl, tenant, paymentBody(), {
        key,
        headers: { prefer: 'respond-async' },
      })
      const id = String(accepted.json['id'])
      await untilExecuted(id, kind)
      worker.kill('SIGKILL')
      await worker.exited
      const successor = await service.startWorker()
      const final = await postPayment(service.apiUrl, tenant, paymentBody(), {
        key,
        headers: { prefer: 'wait=30' },
      })

      expect(final.status).toBe(201)
      expect(final.json).toMatchObject({ id, status: 'succeeded', amount_captured: 1999 })
      const executed = await service.executedFor({ id })
      expect(executed.map((call) => call.kind)).toEqual([
        'payment_intent.create',
        'payment_intent.capture',
      ])
      const timeline = await get(service.apiUrl, tenant, `/v1/payments/${id}/timeline`)
      const runs = timeline.json['data'] as { lease_epoch: number; attempt: number }[]
      expect(runs.at(-1)).toMatchObject({ lease_epoch: 2, attempt: 2 })
      successor.kill('SIGTERM')
      expect(await successor.exited).toEqual({ code: 0, signal: null })
    } finally {
      await service.control('DELETE', 'faults')
      other.kill('SIGCONT')
    }
  },
)

async function untilExecuted(id: string, kind: string): Promise<void> {
  await until(async () => (await service.executedFor({ id })).some((call) => call.kind === kind))
}
