// Outages that clients cause, or notice first: overload, duplicates, misuse of keys, a lost API.
import { randomUUID } from 'node:crypto'
import { get, paymentBody, postPayment } from '../support/client.ts'
import { scrapeProcess } from './recording.ts'
import { forgetAll, killAll, type OutagesOfService, type Scene } from './scene.ts'

/** Each alert needs more than one in a second. */
const MANY_IN_A_MINUTE = 66
/** A few of them are served. */
const AT_ONCE = 80

async function overload({ service, tenant }: Scene): Promise<void> {
  const refused = async () => {
    const { value } = await scrapeProcess(service.api)
    return value('atomic_payments_refusals_total', { reason: 'overloaded' }) ?? 0
  }
  const before = await refused()
  while ((await refused()) < before + MANY_IN_A_MINUTE) {
    const send = () => get(service.apiUrl, tenant, '/v1/payments')
    await Promise.all(Array.from({ length: AT_ONCE }, send))
  }
}

/**
 * Does in the second minute what an alert would see after so many. Its series begins with the first.
 */
function asForMinutes(minutes: number, work: () => Promise<void>): () => Promise<void> {
  let minute = 0
  return async () => {
    minute += 1
    for (let times = minute === 2 ? minutes : 1; times > 0; times -= 1) await work()
  }
}

export const requestOutages: OutagesOfService = {
  settings: { MAX_CONCURRENT_REQUESTS: '1' },
  outages: [
    {
      name: 'more requests arrive at once than the API works on',
      minutes: 8,
      begin: (scene) => Promise.resolve(asForMinutes(5, () => overload(scene))),
      end: () => Promise.resolve(),
      fires: [{ alertname: 'AtomicPaymentsApiErrors' }, { alertname: 'AtomicPaymentsOverloaded' }],
    },
    {
      name: 'a client repeats its request without a pause',
      minutes: 18,
      async begin({ service, tenant }) {
        const key = randomUUID()
        const repeat = async () => {
          for (let sent = 0; sent < MANY_IN_A_MINUTE; sent += 1) {
            await postPayment(service.apiUrl, tenant, paymentBody(), { key })
          }
        }
        return asForMinutes(14, repeat)
      },
      end: () => Promise.resolve(),
      fires: [{ alertname: 'AtomicPaymentsManyDuplicates' }],
    },
    {
      name: 'a client uses one idempotency key for different requests',
      minutes: 12,
      async begin({ service, tenant }) {
        const key = randomUUID()
        let amount = 100
        const pay = () =>
          postPayment(service.apiUrl, tenant, paymentBody({ amount: (amount += 1) }), { key })
        await pay()
        return async () => {
          for (let sent = 0; sent < 3; sent += 1) await pay()
        }
      },
      end: () => Promise.resolve(),
      fires: [{ alertname: 'AtomicPaymentsKeyMisuse' }],
    },
    {
      name: 'the only API process and its container are gone',
      minutes: 4,
      async begin(scene) {
        await killAll(scene, 'atomic-payments-api')
        forgetAll(scene, 'atomic-payments-api')
      },
      fires: [{ alertname: 'AtomicPaymentsTargetGone', job: 'atomic-payments-api' }],
    },
  ],
}
