// The scenario of a payment whose tenant has a webhook endpoint: a transaction that changes the payment
// writes the deliveries of its event, too. The endpoint must receive every event.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as wait } from 'node:timers/promises'
import { ANNOUNCED } from './case.ts'
import { subscribe } from './contests.ts'
import { idsIn } from './ids-in.ts'
import { redeliverWebhooks } from './lane-jobs.ts'
import { RECOVERY_LIMIT_SECONDS, type Merchant } from './merchant.ts'
import { AUTOMATIC } from './payments.ts'
import type { Scenario } from './scenario.ts'

const POLL_MS = 40

interface Receiver {
  readonly server: Server
  /** The ids in the events that it has received. */
  readonly received: Set<string>
}

const receivers = new WeakMap<Merchant, Receiver>()

export const announced: Scenario = {
  name: ANNOUNCED,
  needs: { settings: { WEBHOOK_ALLOW_INSECURE: 'true' } },
  prepare: startReceiver,
  act: pay,
}

async function startReceiver(merchant: Merchant): Promise<string> {
  const received = new Set<string>()
  const server = createServer((request, response) => {
    void text(request).then((body) => idsIn(body).forEach((id) => received.add(id)))
    response.end()
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  receivers.set(merchant, { server, received })
  await subscribe(merchant, (server.address() as AddressInfo).port)
  return ''
}

async function pay(merchant: Merchant): Promise<void> {
  const receiver = receivers.get(merchant)
  if (receiver === undefined) throw new Error('the scenario was not prepared')
  try {
    await merchant.pay(AUTOMATIC)
    await untilReceived(merchant, receiver)
  } finally {
    receiver.server.close()
    receiver.server.closeAllConnections()
  }
}

/** Waits until the endpoint has received all events of the tenant. */
async function untilReceived(merchant: Merchant, { received }: Receiver): Promise<void> {
  const { lane, tenant, violations, signal } = merchant
  const endsAt = performance.now() + RECOVERY_LIMIT_SECONDS * 1_000
  let missing: readonly string[] = []
  while (performance.now() < endsAt) {
    const events = await lane.owner.sql<{ id: string; type: string }[]>`
      select id, type from events where tenant_id = ${tenant.id}
    `
    missing = events.filter(({ id }) => !received.has(id)).map(({ type }) => type)
    if (missing.length === 0 && events.length > 0) return
    await redeliverWebhooks(lane)
    await wait(POLL_MS, undefined, { signal })
  }
  violations.push({ invariant: 7, what: `the endpoint did not receive ${missing.join(', ')}` })
}
