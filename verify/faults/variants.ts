// Variants of a payment: of a tenant with a webhook endpoint, with two providers, and of an order or a
// return that is requested under several keys.
import { setTimeout as wait } from 'node:timers/promises'
import { type Receiver, startReceiver } from '../../test/support/receiver.ts'
import { setProviders } from '../../src/db/tenants/tenants.ts'
import { type Case, RECOVERY_LIMIT_MS, type Violation } from './results.ts'
import { subscribe } from './contests.ts'
import { idsIn, type Merchant, type Wanted } from './merchant.ts'
import { redeliverWebhooks } from './lane-jobs.ts'
import type { Fault, LaneNeeds, Scenario } from './scenario.ts'
import { AUTOMATIC, BASIC_FAULTS, CREATION, paid } from './scenario.ts'
import { poll } from './poll.ts'
import { secondProvider } from './extras.ts'
import { isCommitBoundary, type Point } from './points.ts'
import { isAtSecond } from './provider-proxy.ts'

const { name: second = '', paymentMethod = '' } = secondProvider ?? {}

const receivers = new WeakMap<Merchant, Receiver>()

/**
 * The statements that a payment has only with a webhook endpoint: its deliveries, and their jobs, which
 * are inserted behind that of the operation. When an attempt is made depends on timing.
 */
const OF_DELIVERIES = /\/insert-webhook_deliveries\/|api\/add-jobs\/.*#2\/|worker\/add-jobs\//

export const announced: Scenario = {
  name: 'payment.create.announced',
  needs: { settings: { WEBHOOK_ALLOW_INSECURE: 'true' } },
  variant: 'same calls',
  strikes: ({ contests }, { label }) => contests !== true && OF_DELIVERIES.test(label),
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

const needs: LaneNeeds = {
  secondProvider: true,
  // One call that is not executed is enough to move.
  settings: { CALL_ATTEMPTS: '1' },
}

const { payment_method: stripe, ...CARD } = AUTOMATIC
const PAYMENT = {
  ...CARD,
  payment_methods: { stripe, [second]: paymentMethod },
}

/** At the providers every fault; at the statements that move a payment on, those that are basic. */
const isAtMove = ({ name }: Fault, point: Point) =>
  BASIC_FAULTS.includes(name) && isCommitBoundary(point)

export const routed: readonly Scenario[] = [
  {
    name: 'payment.create.routed',
    needs,
    variant: 'other calls',
    strikes: (fault, point) => point.peer === 'provider' || isAtMove(fault, point),
    prepare: useBoth,
    act: (merchant) => merchant.pay(PAYMENT),
  },
  {
    name: 'payment.create.moved',
    needs,
    variant: 'same calls',
    // Its first provider has a fault already.
    strikes: (fault, point) =>
      point.peer === 'provider' ? isAtSecond(point) : isAtMove(fault, point),
    prepare: useBoth,
    act: move,
  },
]

async function useBoth({ lane, tenant }: Merchant): Promise<string> {
  const routes = [{ provider: 'stripe' }, { provider: second }]
  await setProviders(lane.owner.sql, tenant.id, routes)
  return ''
}

/** The first provider executes nothing, once. */
async function move(merchant: Merchant, _id: string, injections: Case['injections']) {
  const { lane, violations } = merchant
  await lane.provider.plantFault({ match: CREATION, fault: 'rate_limited', times: 1 })
  const { resource } = await merchant.pay(PAYMENT)
  if (injections.length > 0) return
  const executed = (await lane.listExecuted()).filter(
    ({ metadata }) => metadata['atomic_payment'] === resource.id,
  )
  if (executed.some(({ provider }) => provider === second)) return
  violations.push({ invariant: 7, what: 'the payment did not move, although nothing was executed' })
}

/** Less than the payment, so that its amount does not prevent a second one. */
const RETURNED = 1_000

export const payReferenced: Scenario = {
  name: 'payment.create.referenced',
  variant: 'same calls',
  act: (merchant) =>
    tryUnderNewKeys(merchant, {
      kind: 'payment.create',
      body: { ...AUTOMATIC, reference: merchant.history.run },
    }),
  check: (merchant) => checkExecutedOnce(merchant, 'payments', 'payment_intent.capture'),
}

export const refundReferenced: Scenario = {
  name: 'refund.create.referenced',
  variant: 'same calls',
  prepare: paid(AUTOMATIC),
  act: (merchant, paymentId) =>
    tryUnderNewKeys(merchant, {
      kind: 'refund.create',
      paymentId,
      body: { amount: RETURNED, reference: merchant.history.run },
    }),
  check: (merchant) => checkExecutedOnce(merchant, 'refunds', 'refund.create'),
}

const TRIES_MIN = 2
const TRIES_MAX = 20
const PAUSE_MS = 500

/**
 * The client ignores its first answer. It goes on until it hears the result, or that there is an
 * earlier payment or refund.
 */
async function tryUnderNewKeys(merchant: Merchant, wanted: Wanted): Promise<void> {
  const { signal } = merchant
  const sender = merchant.createImpatientSender()
  for (let tries = 1; tries <= TRIES_MAX; tries += 1) {
    const operation = merchant.begin(wanted, 'order')
    await merchant.send(operation, { sender })
    const isAnswered = operation.answers.length > 0
    if (isAnswered && tries >= TRIES_MIN) break
    if (!isAnswered) await wait(PAUSE_MS, undefined, { signal })
  }
  await merchant.untilAllAnswered()
}

/** One was executed, one uses the reference, and each refused request was told of an earlier one. */
async function checkExecutedOnce(
  { history, lane, sender }: Merchant,
  resources: 'payments' | 'refunds',
  executed: string,
): Promise<Violation[]> {
  const reference = history.run
  const log = await lane.provider.listExecuted()
  const own = log.filter(
    ({ kind, metadata }) => kind === executed && metadata['atomic_reference'] === reference,
  )
  const query = { params: { query: { reference } } }
  const { data } =
    resources === 'payments'
      ? await sender.client.GET('/v1/payments', query)
      : await sender.client.GET('/v1/refunds', query)
  const listed: readonly { readonly id: string; readonly status: string }[] = data?.data ?? []
  const using = listed.filter(({ status }) => !WITHOUT_EFFECT.includes(status))
  const ids = new Set(listed.map(({ id }) => id))
  const duplicates = history.operations
    .flatMap(({ answers }) => answers)
    .filter(({ problem }) => problem === 'duplicate-reference')
  const unnamed = duplicates.filter(({ earlier = '' }) => !ids.has(earlier))
  return [
    ...(own.length === 1 ? [] : [{ invariant: 1, what: `${executed}: ${own.length} times` }]),
    ...(using.length === 1 ? [] : [{ invariant: 1, what: `${using.length} use one reference` }]),
    ...unnamed.map(({ earlier }) => ({
      invariant: 9,
      what: `duplicate-reference names ${earlier ?? 'nothing'}, which has not the reference`,
    })),
  ]
}

const WITHOUT_EFFECT = ['declined', 'canceled', 'failed']
