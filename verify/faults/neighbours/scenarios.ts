// The scenarios with neighbours: what one tenant does must not delay another one on the same
// processes. Each measures the same tenant alone and then beside the noise, in one run.
import { setTimeout as wait } from 'node:timers/promises'
import {
  FAILURES_TO_OPEN,
  FIRST_PAUSE_SECONDS,
} from '../../../src/domain/webhooks/webhook-endpoint.ts'
import { type Receiver, status } from '../../../test/support/receiver.ts'
import { awaitFinalAnswers, keepAnswer } from '../../simulate/traffic.ts'
import { countJobs } from '../lane-jobs.ts'
import { Merchant } from '../merchant.ts'
import { poll } from '../poll.ts'
import { RECOVERY_LIMIT_MS, RECOVERY_LIMIT_SECONDS } from '../results.ts'
import { type LaneNeeds, MANUAL, type Scenario } from '../scenario.ts'
import { inParallel } from '../../simulate/in-parallel.ts'
import { GUESSES_A_WINDOW, guessKeys, WINDOW_SECONDS } from './key-guessing.ts'
import { BACKLOG_EVENT, NEIGHBOUR, payBeside, receivedBy, subscribe } from './measure.ts'

/** Provider and receivers have names, and every limit of the product is one that a run can reach. */
const needs: LaneNeeds = {
  byName: true,
  // No process is killed, and a standby process costs as much as a working one.
  standbys: [],
  settings: {
    PROVIDER_TIMEOUT_MS: '4000',
    LEASE_MS: '20000',
    STORE_TIMEOUT_MS: '5000',
    DATABASE_POOL_SIZE: '4',
    WORKER_CONCURRENCY: '8',
    WEBHOOK_CONCURRENCY: '6',
    WEBHOOK_TIMEOUT_MS: '1000',
    WEBHOOK_ALLOW_INSECURE: 'true',
    DNS_TIMEOUT_MS: '1000',
    API_KEY_CACHE_SECONDS: '5',
    RATE_LIMIT_INVALID_KEYS: String(GUESSES_A_WINDOW),
    // A run that is made again waits for the next window: its client sends a key that is new.
    RATE_LIMIT_WINDOW_SECONDS: String(WINDOW_SECONDS),
  },
}

export const neighbours: readonly Scenario[] = [
  { name: 'noisy-neighbour', needs, act: (merchant) => makeNoise(merchant, 300) },
  { name: 'noisy-neighbour.full', needs, act: (merchant) => makeNoise(merchant, 10_000) },
  { name: 'silent-dns', needs, act: silenceNames },
  { name: 'key-guessing', needs, act: guessKeys },
]

const HANGING = Array.from({ length: 6 }, (_, index) => `hanging-${index}.test`)
/** How long attempts that the circuits have let through may go on arriving. */
const CIRCUIT_MS = 2_500
const CIRCUIT_LIMIT_MS = 12_000

/** The noisy tenant has a backlog of payments, a slow provider and endpoints that never answer. */
async function makeNoise(merchant: Merchant, backlog: number): Promise<void> {
  const { lane, violations } = merchant
  const noisy = await addNeighbour(merchant)
  const endpoints: string[] = []
  let subscribedAt = 0
  await payBeside(merchant, {
    async begin(receiver) {
      receiver.answer = (response, request) => {
        if (request.path === `/${NEIGHBOUR}`) status(204)(response, request)
      }
      for (const host of HANGING)
        endpoints.push(await subscribe(noisy, receiver, host, BACKLOG_EVENT))
      subscribedAt = performance.now()
      await acceptBacklog(noisy, backlog)
    },
    async end(receiver) {
      if ((await countJobs(lane)) === 0) {
        violations.push({ invariant: 0, what: 'the backlog was worked off too soon' })
      }
      await checkCircuits(noisy, receiver, subscribedAt)
      for (const id of endpoints) await remove(noisy, id)
      await workOff(noisy)
    },
  })
}

const SILENT = Array.from({ length: 20 }, (_, index) => `silent-${index}.test`)
/** Each of them tells every endpoint. */
const PAYMENTS = 5
/** As many names as the workers ask for at once. */
const NAMES_AT_ONCE = 6
const ASKING_LIMIT_MS = 10_000

/** The endpoints of the noisy tenant have names that their name server never answers for. */
async function silenceNames(merchant: Merchant): Promise<void> {
  const { names } = merchant.lane
  const noisy = await addNeighbour(merchant)
  const countAsked = () =>
    new Set(names.asked.filter((question) => question.includes('silent-'))).size
  await payBeside(merchant, {
    async begin(receiver) {
      for (const host of SILENT) {
        await subscribe(noisy, receiver, host, BACKLOG_EVENT)
        names.silentNames.add(host)
      }
      await acceptBacklog(noisy, PAYMENTS)
      await poll(ASKING_LIMIT_MS, () => countAsked() >= NAMES_AT_ONCE, { pauseMs: 10 })
      if (countAsked() === 0) throw new Error('the silent name server was never asked')
    },
    async end() {
      names.silentNames.clear()
      await workOff(noisy)
    },
  }).finally(() => names.silentNames.clear())
}

async function addNeighbour({ lane, neighbours: others, signal }: Merchant): Promise<Merchant> {
  // Thousands of operations have too many points to keep, and nothing is injected.
  lane.watch.end()
  const neighbour = new Merchant(lane, await lane.createTenant(), signal)
  others.push(neighbour)
  return neighbour
}

const CLIENTS = 16

/** Sends payments, and returns when each has its 202. Their final answers are read later. */
async function acceptBacklog(merchant: Merchant, count: number): Promise<void> {
  const { sender, signal } = merchant
  const beginOne = () => merchant.begin({ kind: 'payment.create', body: MANUAL })
  await inParallel(Array.from({ length: count }, beginOne), CLIENTS, async (operation) => {
    const { content, key } = operation
    const options = { patience: 'respond_async', signal } as const
    keepAnswer(operation, await sender.send(content, key, options))
    if (operation.pending?.status !== 202) throw new Error('a payment was not accepted')
  })
}

/** Waits while the backlog becomes shorter, with a provider that is fast again, and asks for all answers. */
async function workOff({ lane, sender, history, signal }: Merchant): Promise<void> {
  await lane.provider.removeFaults()
  let least = Infinity
  const isShorter = async () => {
    const left = await countJobs(lane)
    const moved = left < least
    least = Math.min(left, least)
    return moved || left === 0
  }
  const isMoving = () => poll(RECOVERY_LIMIT_MS, isShorter, { pauseMs: 50 })
  while (await isMoving()) if (least === 0) break
  // From now on only answers are missing.
  const seconds = 2 * RECOVERY_LIMIT_SECONDS
  await awaitFinalAnswers({ sender, history, concurrency: CLIENTS, seconds, signal })
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
