// Outages that clients cause, or notice first: overload, duplicates, misuse of keys, a lost API.
import { randomUUID } from 'node:crypto'
import { get, paymentBody, postPayment } from '../support/client.ts'
import { scrapeProcess } from './recording.ts'
import type { Outage, Scene } from './scene.ts'

/** Each alert needs more than one in a second. */
const MANY_IN_A_MINUTE = 66
const AT_A_TIME = 33

async function repeat(times: number, send: () => Promise<unknown>): Promise<void> {
  for (let sent = 0; sent < times; sent += AT_A_TIME) {
    await Promise.all(Array.from({ length: AT_A_TIME }, send))
  }
}

async function overload({ service, tenant }: Scene): Promise<void> {
  const refused = async () => {
    const { value } = await scrapeProcess(service.api)
    return value('atomic_payments_refusals_total', { reason: 'overloaded' }) ?? 0
  }
  const before = await refused()
  while ((await refused()) < before + MANY_IN_A_MINUTE) {
    await repeat(MANY_IN_A_MINUTE, () => get(service.apiUrl, tenant, '/v1/payments'))
  }
}

export const requestOutages: readonly Outage[] = [
  {
    name: 'more requests arrive at once than the API works on',
    settings: { MAX_CONCURRENT_REQUESTS: '1' },
    minutes: 12,
    begin: (scene) => Promise.resolve(() => overload(scene)),
    end: () => Promise.resolve(),
    fires: [{ alertname: 'AtomicPaymentsApiErrors' }, { alertname: 'AtomicPaymentsOverloaded' }],
  },
  {
    name: 'a client repeats its request without a pause',
    minutes: 31,
    async begin({ service, tenant }) {
      const key = randomUUID()
      const pay = () => postPayment(service.apiUrl, tenant, paymentBody(), { key })
      await pay()
      return () => repeat(MANY_IN_A_MINUTE, pay)
    },
    end: () => Promise.resolve(),
    fires: [{ alertname: 'AtomicPaymentsManyDuplicates' }],
  },
  {
    name: 'a client uses one idempotency key for different requests',
    minutes: 20,
    async begin({ service, tenant }) {
      const key = randomUUID()
      let amount = 100
      const pay = () =>
        postPayment(service.apiUrl, tenant, paymentBody({ amount: (amount += 1) }), { key })
      await pay()
      return pay
    },
    end: () => Promise.resolve(),
    fires: [{ alertname: 'AtomicPaymentsKeyMisuse' }],
  },
  {
    name: 'the only API process and its container are gone',
    minutes: 4,
    async begin(scene) {
      scene.service.api.kill('SIGKILL')
      await scene.service.api.exited
      scene.targets = scene.targets.filter(({ job }) => job !== 'atomic-payments-api')
    },
    fires: [{ alertname: 'AtomicPaymentsTargetGone', job: 'atomic-payments-api' }],
  },
]
