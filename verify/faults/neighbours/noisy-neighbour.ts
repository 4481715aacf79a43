// A tenant with a backlog of payments, a slow provider and endpoints that never answer. Another
// tenant pays beside it, and hears of its payments.
import { setTimeout as wait } from 'node:timers/promises'
import {
  FAILURES_TO_OPEN,
  FIRST_PAUSE_SECONDS,
} from '../../../src/domain/webhooks/webhook-endpoint.ts'
import { startReceiver, status, type Receiver } from '../../../test/support/receiver.ts'
import { countJobs } from '../lane-jobs.ts'
import { Merchant } from '../merchant.ts'
import { poll } from '../poll.ts'
import { acceptBacklog, BACKLOG_EVENT, workOff } from './backlog.ts'
import {
  compare,
  NEIGHBOUR,
  payInTurn,
  receivedBy,
  slowDownProvider,
  subscribe,
} from './measure.ts'

const HANGING = Array.from({ length: 6 }, (_, index) => `hanging-${index}.test`)
/** How long attempts that the circuits have let through may go on arriving. */
const CIRCUIT_MS = 2_500
const CIRCUIT_LIMIT_MS = 12_000

export async function makeNoise(merchant: Merchant, backlog: number): Promise<void> {
  const { lane, signal } = merchant
  // Thousands of operations have too many points to keep, and nothing is injected.
  lane.watch.end()
  const noisy = new Merchant(lane, await lane.createTenant(), signal)
  merchant.neighbours.push(noisy)
  const receiver = await startReceiver()
  receiver.answer = (response, request) => {
    if (request.path === `/${NEIGHBOUR}`) status(204)(response, request)
  }
  try {
    await subscribe(merchant, receiver, NEIGHBOUR)
    await slowDownProvider(merchant)
    const alone = await payInTurn({ merchant, receiver })
    const endpoints: string[] = []
    for (const host of HANGING)
      endpoints.push(await subscribe(noisy, receiver, host, BACKLOG_EVENT))
    const subscribedAt = performance.now()
    await acceptBacklog(noisy, backlog)
    const beside = await payInTurn({ merchant, receiver })
    compare(merchant, alone.times, beside.times)
    if ((await countJobs(lane)) === 0) {
      merchant.violations.push({ invariant: 0, what: 'the backlog was worked off too soon' })
    }
    await checkCircuits(noisy, receiver, subscribedAt)
    for (const id of endpoints) await remove(noisy, id)
    await lane.provider.removeFaults()
    await workOff(noisy)
    await beside.ended
  } finally {
    await receiver.stop()
  }
}

/** After the failures that open its circuit, an endpoint gets one attempt for each pause at most. */
async function checkCircuits(
  { violations }: Merchant,
  receiver: Receiver,
  subscribedAt: number,
): Promise<void> {
  const attempts = () => HANGING.map((host) => receivedBy(receiver, host).length)
  await poll(CIRCUIT_LIMIT_MS, () => Math.min(...attempts()) >= FAILURES_TO_OPEN)
  await wait(CIRCUIT_MS)
  const [least, most] = [Math.min(...attempts()), Math.max(...attempts())]
  if (least < FAILURES_TO_OPEN) {
    violations.push({ invariant: 0, what: `a hanging endpoint got ${least} attempts only` })
  }
  const pauses = Math.floor((performance.now() - subscribedAt) / (FIRST_PAUSE_SECONDS * 1_000))
  const limit = FAILURES_TO_OPEN + pauses
  if (most > limit) {
    const what = `a hanging endpoint got ${most} attempts, and its circuit allows ${limit}`
    violations.push({ invariant: 7, what })
  }
}

async function remove({ sender: { client } }: Merchant, id: string): Promise<void> {
  const { response } = await client.DELETE('/v1/webhook-endpoints/{id}', {
    idempotencyKey: `remove-${id}`,
    params: { path: { id } },
  })
  if (!response.ok) throw new Error(`removing an endpoint was answered ${response.status}`)
}
