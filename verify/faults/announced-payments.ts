// The scenario of a payment whose tenant has a webhook endpoint: a transaction that changes the payment
// writes the deliveries of its event, too. The endpoint must receive every event.
import { startReceiver, type Receiver } from '../../test/support/receiver.ts'
import { ANNOUNCED } from './case.ts'
import { subscribe } from './contests.ts'
import { idsIn } from './ids-in.ts'
import { redeliverWebhooks } from './lane-jobs.ts'
import { type Merchant } from './merchant.ts'
import { RECOVERY_LIMIT_MS } from './bounds.ts'
import { AUTOMATIC } from './payments.ts'
import { poll } from './poll.ts'
import type { Scenario } from './scenario.ts'

const receivers = new WeakMap<Merchant, Receiver>()

export const announced: Scenario = {
  name: ANNOUNCED,
  needs: { settings: { WEBHOOK_ALLOW_INSECURE: 'true' } },
  async prepare(merchant) {
    const receiver = await startReceiver()
    receivers.set(merchant, receiver)
    await subscribe(merchant, receiver.port)
    return ''
  },
  act: pay,
}

async function pay(merchant: Merchant): Promise<void> {
  const receiver = receivers.get(merchant)
  if (receiver === undefined) throw new Error('the scenario was not prepared')
  try {
    await merchant.pay(AUTOMATIC)
    await untilReceived(merchant, receiver)
  } finally {
    await receiver.stop()
  }
}

/** Waits until the endpoint has received all events of the tenant. */
async function untilReceived(merchant: Merchant, { received }: Receiver): Promise<void> {
  const { lane, tenant, violations, signal } = merchant
  let missing: readonly string[] = []
  const areReceived = async () => {
    const events = await lane.owner.sql<{ id: string; type: string }[]>`
      select id, type from events where tenant_id = ${tenant.id}
    `
    const ids = new Set(received.flatMap(({ body }) => idsIn(body)))
    missing = events.filter(({ id }) => !ids.has(id)).map(({ type }) => type)
    if (missing.length === 0 && events.length > 0) return true
    await redeliverWebhooks(lane)
    return false
  }
  if (await poll(RECOVERY_LIMIT_MS, areReceived, { signal })) return
  violations.push({ invariant: 7, what: `the endpoint did not receive ${missing.join(', ')}` })
}
