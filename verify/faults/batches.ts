// The scenarios of batches: a tenant's requests and its provider's answers arrive together, so that
// they share transactions. Faults at the second statement of a name strike several members.
import type { Transaction } from '../../src/db/connection/client.ts'
import { inTransaction } from '../../src/db/connection/transaction.ts'
import { JOB_SCHEMA, OPERATIONS_QUEUE } from '../../src/db/queue/jobs.ts'
import type { Operation } from '../simulate/history.ts'
import type { Injection } from './results.ts'
import { countWaiting } from './contention.ts'
import { PAYMENT } from './contests.ts'
import type { Merchant } from './merchant.ts'
import type { Scenario } from './scenario.ts'

const PAYMENTS = 6
const REFUSED = 2
/** Enough for each connection of the API. */
const READS = 6
/** How many are captured and refunded. */
const HELD = 4

/**
 * Every transaction of a batch has its first statement and its commit. The second one is that of a batch;
 * how many follow, and which other messages there are, depends on timing.
 */
const SHARED_STATEMENT = /\/(commit-)?(reserve|claim|advance|finish)\/\w+#[12]\//

const ofBatches: Pick<Scenario, 'needs' | 'variant' | 'isConcurrent' | 'strikes'> = {
  needs: {
    settings: { WORKER_CONCURRENCY: String(PAYMENTS), API_KEY_CACHE_SECONDS: '60' },
  },
  variant: 'same calls',
  isConcurrent: true,
  // A contest is for the only operation in progress.
  strikes: ({ contests }, { label }) => contests !== true && SHARED_STATEMENT.test(label),
}

export const payTogether: Scenario = {
  name: 'payment.create.together',
  ...ofBatches,
  prepare: authenticate,
  act: pay,
}

export const captureTogether: Scenario = {
  name: 'payment.capture.together',
  ...ofBatches,
  prepare: hold,
  act: captureAndRefund,
}

/** Later requests of the tenant need no statement of their own before their intents. */
async function authenticate({ sender }: Merchant): Promise<string> {
  const { response } = await sender.client.GET('/v1/payments')
  if (!response.ok) throw new Error(`the first request was answered ${response.status}`)
  return ''
}

/** Several payments at once, one of them requested twice, and some that the store refuses. */
async function pay(merchant: Merchant, _id: string, injections: readonly Injection[]) {
  const payments = Array.from({ length: PAYMENTS }, () => merchant.begin(PAYMENT))
  await together(merchant, PAYMENTS, [
    ...[...payments, ...payments.slice(-1)].map((payment) => () => merchant.send(payment)),
    ...Array.from({ length: REFUSED }, (_, index) => () => payForeign(merchant, index)),
  ])
  const areMade = payments.every(({ answers }) => answers[0]?.status === 201)
  if (injections.length === 0 && areMade) await checkShared(merchant, 'payment.create')
}

/** Makes the payments that are captured, and returns the id of the first one. */
async function hold(merchant: Merchant): Promise<string> {
  const body = { ...PAYMENT.body, capture_method: 'manual' } as const
  const payments = Array.from({ length: HELD }, () => merchant.begin({ ...PAYMENT, body }))
  await Promise.all(payments.map((payment) => merchant.send(payment)))
  await merchant.untilAllAnswered()
  return idOf(payments[0])
}

/**
 * Captures several payments at once, and then refunds them at once. One more refund is refused, without
 * effect on the others.
 */
async function captureAndRefund(
  merchant: Merchant,
  _id: string,
  injections: readonly Injection[],
): Promise<void> {
  const ids = merchant.history.operations.map(idOf)
  const { amount } = PAYMENT.body
  const captures = ids.map((paymentId) =>
    merchant.begin({ kind: 'payment.capture', paymentId, amount }),
  )
  await together(
    merchant,
    HELD,
    captures.map((capture) => () => merchant.send(capture)),
  )
  if (injections.length === 0) await checkShared(merchant, 'payment.capture')
  const refunds = ids.map((paymentId) =>
    merchant.begin({ kind: 'refund.create', paymentId, body: { amount } }),
  )
  await together(merchant, HELD, [
    ...refunds.map((refund) => () => merchant.send(refund)),
    () => refundTooMuch(merchant, ids[0] ?? ''),
  ])
}

async function refundTooMuch(merchant: Merchant, paymentId: string): Promise<void> {
  const label = 'refund-too-much'
  const body = { amount: PAYMENT.body.amount + 1 }
  const content = { kind: 'refund.create', paymentId, body } as const
  await merchant.sendRefused(content, { why: 'too_much', key: label, label })
}

const idOf = (operation: Operation | undefined): string => operation?.answers[0]?.resource.id ?? ''

/**
 * Sends requests of one tenant together: the row of their queue is locked, so that the first intent
 * waits to insert its job, and the others for the first. So many answers of the provider are passed
 * on together. Returns when all have final answers.
 */
async function together(
  merchant: Merchant,
  answers: number,
  requests: readonly (() => Promise<void>)[],
): Promise<void> {
  const { lane } = merchant
  await openConnections(merchant)
  lane.process('worker').provider.gather(answers)
  let sent: Promise<void>[] = []
  const locked = inTransaction(lane.owner.sql, async (tx) => {
    await tx`select from ${tx(JOB_SCHEMA)}.queue where name = ${OPERATIONS_QUEUE} for update`
    sent = requests.map((request) => request())
    await untilGathered(tx)
  })
  await locked.catch((error: unknown) => {
    // A fault may end the server, and with it the lock.
    if (sent.length === 0) throw error
  })
  await Promise.all(sent)
  await merchant.untilAllAnswered()
}

/**
 * New sessions take so long on a busy machine that the requests would go on apart. A fault may have
 * struck before.
 */
async function openConnections({ sender }: Merchant): Promise<void> {
  const reads = Array.from({ length: READS }, () => sender.client.GET('/v1/payments'))
  await Promise.allSettled(reads)
}

/** Names a customer that the tenant does not own. */
async function payForeign(merchant: Merchant, index: number): Promise<void> {
  const label = `foreign-${index}`
  const body = { ...PAYMENT.body, customer: 'cus_of_no_tenant' }
  await merchant.sendRefused({ ...PAYMENT, body }, { why: 'invalid', key: label, label })
}

/** A fault may keep the second statement from being sent. */
const GATHERING_LIMIT_MS = 500

/**
 * Waits for two statements at the lock. It asks by statements of the transaction alone: the loss of
 * its connection meanwhile would go unnoticed, and the next one would end the process.
 */
async function untilGathered(tx: Transaction): Promise<void> {
  const endsAt = performance.now() + GATHERING_LIMIT_MS
  for (let gathered = 0; gathered < 2 && performance.now() < endsAt;) {
    await tx`select pg_sleep(0.005), pg_stat_clear_snapshot()`
    gathered = await countWaiting(tx)
  }
}

/**
 * Without a fault, intents and phases of the operation have shared transactions. When each had one of
 * its own, the faults of this scenario strike no batch. A busy API can be so slow that no request
 * comes while it waits for others.
 */
async function checkShared(
  { lane, tenant, violations }: Merchant,
  operation: string,
): Promise<void> {
  const [shared] = await lane.owner.sql<{ intents: number; phases: number }[]>`
    with members as (
      select phase is null as is_intent, count(distinct operation_id)::int as number
      from phase_runs join idempotency_keys as key
        on key.tenant_id = phase_runs.tenant_id and key.id = phase_runs.operation_id
      where phase_runs.tenant_id = ${tenant.id} and key.operation = ${operation}
      group by phase_runs.xmin::text, is_intent
    )
    select
      coalesce(max(number) filter (where is_intent), 0) as intents,
      coalesce(max(number) filter (where not is_intent), 0) as phases
    from members
  `
  const { intents = 0, phases = 0 } = shared ?? {}
  if (intents < 2 || phases < 2) {
    const most = `at most ${intents} intents and ${phases} phases shared a transaction`
    violations.push({ invariant: 0, what: `no batch of ${operation}: ${most}`, isLate: true })
  }
}
