// Outages of the provider. Where an alert waits for hours, one row is made older in the database:
// several could be in a deadlock with a batch of the worker.
import { postPayment } from '../support/client.ts'
import { until } from '../support/until.ts'
import { scrapeProcess } from './recording.ts'
import type { OutagesOfService, Scene } from './scene.ts'

const ASYNC = { headers: { prefer: 'respond-async' } }

/** Above the limit of the alert on unknown outcomes. */
const PAYMENTS = 22

async function pay({ service, tenant }: Scene, count: number): Promise<void> {
  const sent = Array.from({ length: count }, () =>
    postPayment(service.apiUrl, tenant, undefined, ASYNC),
  )
  await Promise.all(sent)
}

/** Waits until the worker exports more than so much. It reads the store every five seconds. */
async function untilAbove({ service }: Scene, gauge: string, least: number, labels = {}) {
  await until(async () => {
    const { value } = await scrapeProcess(service.worker)
    return (value(`atomic_payments_${gauge}`, labels) ?? 0) > least
  })
}

export const providerOutages: OutagesOfService = {
  settings: { PROVIDER_BREAKER_FAILURES: '5' },
  outages: [
    {
      name: 'the clock of the provider differs from ours',
      minutes: 6,
      async begin(scene) {
        await scene.service.control('POST', 'clock', { ahead_seconds: 120 })
        await pay(scene, 1)
        await untilAbove(scene, 'provider_clock_apart_seconds', 60)
      },
      async end(scene) {
        await scene.service.control('POST', 'clock', { ahead_seconds: 0 })
        await pay(scene, 1)
        await until(async () => {
          const { value } = await scrapeProcess(scene.service.worker)
          return (value('atomic_payments_provider_clock_apart_seconds', {}) ?? 0) < 60
        })
      },
      fires: [{ alertname: 'AtomicPaymentsClocksApart' }],
    },
    {
      name: 'the provider cannot be reached',
      minutes: 6,
      async begin(scene) {
        const { service } = scene
        await service.provider.close()
        await pay(scene, PAYMENTS)
        await untilAbove(scene, 'circuit_open', 0, { circuit: 'provider' })
        await service.store.sql`
        update idempotency_keys set created_at = created_at - interval '6 minutes'
        where id = (
          select id from idempotency_keys where status in ('pending', 'processing') limit 1
        )
      `
        await untilAbove(scene, 'oldest_unfinished_operation_seconds', 300)
      },
      fires: [
        { alertname: 'AtomicPaymentsCircuitOpen', circuit: 'provider' },
        { alertname: 'AtomicPaymentsOperationStuck' },
      ],
    },
  ],
}

export const nonsenseOutages: OutagesOfService = {
  settings: {
    CALL_ATTEMPTS: '1',
    JOB_RETRY_LIMIT: '0',
    CHECK_DELAYS_SECONDS: '1',
    PROVIDER_BREAKER_FAILURES: '0',
  },
  outages: [
    {
      name: 'the answers of the provider make no sense',
      minutes: 12,
      async begin(scene) {
        const { service } = scene
        const nonsense = { match: {}, fault: 'nonsense_body', times: 1_000_000 }
        await service.control('POST', 'faults', nonsense)
        await pay(scene, PAYMENTS)
        await untilAbove(scene, 'findings_open', 0)
        await service.store.sql`
        update idempotency_keys set unknown_at = unknown_at - interval '3 hours'
        where id = (select id from idempotency_keys where status = 'unknown' limit 1)
      `
        await untilAbove(scene, 'oldest_unknown_operation_seconds', 7_200)
        await untilAbove(scene, 'operations', PAYMENTS - 1, { status: 'unknown' })
        await untilAbove(scene, 'dead_letters', 0, { queue: 'operations.dead' })
      },
      fires: [
        { alertname: 'AtomicPaymentsDeadLetters', queue: 'operations.dead' },
        { alertname: 'AtomicPaymentsFindingsOpen' },
        { alertname: 'AtomicPaymentsManyOutcomesUnknown' },
        { alertname: 'AtomicPaymentsOutcomeUnknownForLong' },
      ],
    },
  ],
}
