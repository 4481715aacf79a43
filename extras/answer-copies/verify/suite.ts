// What the fault suite does with copies of answers in Redis: a payment that is replayed from a copy, a copy
// whose response is dropped and whose API key is revoked, and what happens to Redis meanwhile. Every answer
// must be the one of PostgreSQL.
import { inTransaction } from '../../../src/db/connection/transaction.ts'
import { dropResponses } from '../../../src/db/idempotency/dropped-responses.ts'
import {
  insertApiKey,
  makeApiKey,
  revokeKeyIfNotRevoked,
} from '../../../src/db/tenants/api-keys.ts'
import type { Fault } from '../../../verify/faults/scenario.ts'
import { Merchant } from '../../../verify/faults/merchant.ts'
import { isAtExtra, isCommitBoundary } from '../../../verify/faults/points.ts'
import { poll } from '../../../verify/faults/poll.ts'
import { RECOVERY_LIMIT_MS, type Violation } from '../../../verify/faults/results.ts'
import { AUTOMATIC, BASIC_FAULTS, type Scenario } from '../../../verify/faults/scenario.ts'
import { PASS } from '../../../verify/faults/watch.ts'
import type { Answer, Operation } from '../../../verify/simulate/history.ts'
import { type LaneRedis, startLaneRedis } from './lane-redis.ts'
import type { RedisProxy } from './redis-proxy.ts'

interface Happening {
  readonly name: string
  readonly strike: (redis: LaneRedis) => Promise<void>
  /** Whether it ends before the message of the point goes on. */
  readonly isWaitedFor?: true
}

const happenings: readonly Happening[] = [
  { name: 'redis-killed', strike: (redis) => redis.crash() },
  { name: 'redis-paused', strike: (redis) => redis.pause() },
  { name: 'redis-cut', strike: (redis) => redis.cut() },
  { name: 'redis-full', strike: (redis) => redis.fill() },
  { name: 'redis-flushed', strike: (redis) => redis.flush(), isWaitedFor: true },
  { name: 'redis-failover', strike: (redis) => redis.failOver(), isWaitedFor: true },
  { name: 'redis-restored', strike: (redis) => redis.restoreSnapshot(), isWaitedFor: true },
]

export const faults: readonly Fault[] = happenings.map(({ name, strike, isWaitedFor }) => ({
  name,
  appliesAt: (point) => isAtExtra(point) || isCommitBoundary(point),
  needsExtraServer: true,
  inject({ merchant, trackWork }, point) {
    const over = strike(redisOf(merchant))
    trackWork(over.then(() => []))
    if (isWaitedFor !== true || !isAtExtra(point)) return PASS
    return { do: 'wait', until: over.then(() => 'pass') }
  },
}))

const redisOf = ({ lane }: Merchant) => lane.extraServer as LaneRedis

/** What the API that works now has asked of Redis. */
const seenBy = ({ lane }: Merchant) => (lane.process('api').extra as RedisProxy).seen

const ofCopies: Pick<Scenario, 'needs' | 'variant' | 'strikes' | 'check'> = {
  needs: {
    extraServer: { program: 'redis-server', start: startLaneRedis },
    // On a busy machine a shorter time would pass without a fault.
    settings: { REDIS_TIMEOUT_MS: '500' },
  },
  variant: 'same calls',
  // It is there for what happens to Redis, and around it.
  strikes: ({ name, needsExtraServer }, point) =>
    needsExtraServer === true ||
    isAtExtra(point) ||
    (BASIC_FAULTS.includes(name) && isCommitBoundary(point)),
  check: compareWithStored,
}

/** A process that lost the connection by which it hears of drops asks at the latest after 6 s. */
const DROP_LIMIT_MS = 7_000
const POLL_MS = 20
/**
 * A request between the drop and its notification still reads a copy, and one before the epoch is
 * known again reads none. With so many reads, every run has the points of the counting run.
 */
const READS_AFTER_DROP = 3
const UNAUTHORIZED = 401
const GONE = 410

export const scenarios: readonly Scenario[] = [
  {
    name: 'payment.create.copied',
    isNeeded: true,
    ...ofCopies,
    prepare: untilRedisIsUsed,
    act: payAndReplay,
  },
  { name: 'payment.create.withdrawn', ...ofCopies, prepare: copyPayment, act: withdraw },
]

async function untilRedisIsUsed(merchant: Merchant): Promise<string> {
  await poll(Infinity, () => seenBy(merchant).hasProbed, { signal: merchant.signal })
  return ''
}

/** The second replay comes from the copy also if a fault struck the first. */
async function payAndReplay(merchant: Merchant): Promise<void> {
  await merchant.pay(AUTOMATIC)
  await merchant.replay()
  await merchant.replay()
}

/** Makes a payment whose answer is copied, also in the snapshot. */
async function copyPayment(merchant: Merchant): Promise<string> {
  await untilRedisIsUsed(merchant)
  await merchant.pay(AUTOMATIC)
  await replayFromCopy(merchant)
  await redisOf(merchant).keepSnapshot()
  return ''
}

/** Revokes an API key that has used the copy, and then drops the response. */
async function withdraw(merchant: Merchant): Promise<void> {
  const { lane, tenant, signal } = merchant
  const operation = theOnly(merchant)
  const secret = makeApiKey()
  const other = new Merchant(lane, { id: tenant.id, apiKey: secret }, signal)
  const { sql } = lane.owner
  const { id } = await inTransaction(sql, (tx) => insertApiKey(tx, { tenantId: tenant.id, secret }))
  await untilAnswered(other, operation)
  await inTransaction(sql, (tx) => revokeKeyIfNotRevoked(tx, id))
  const { status } = await untilAnswered(other, operation)
  if (status !== UNAUTHORIZED) {
    merchant.violations.push({ invariant: 9, what: `a revoked API key is answered ${status}` })
  }
  const reads = seenBy(merchant).reads + READS_AFTER_DROP
  await dropResponse(merchant)
  await untilDropped(merchant, operation)
  await replayUntil(merchant, () => seenBy(merchant).reads >= reads)
}

function theOnly({ history: { operations } }: Merchant): Operation {
  const [operation] = operations
  if (operation === undefined) throw new Error('the payment was not prepared')
  return operation
}

/** Asks until there is an answer: a fault may cost some. It is none of the operation's own. */
async function untilAnswered(merchant: Merchant, operation: Operation): Promise<Answer> {
  const { sender, signal } = merchant
  const { content, key } = operation
  let answer: Answer | undefined
  const isAnswered = async () => {
    answer = await sender.send(content, key, { patience: 'wait', signal })
    return answer !== undefined && answer.status < 500
  }
  await poll(RECOVERY_LIMIT_MS, isAnswered, { pauseMs: POLL_MS, signal })
  if (answer === undefined) throw new Error('the copied request has no answer')
  return answer
}

async function dropResponse({ lane, tenant }: Merchant): Promise<void> {
  await inTransaction(lane.owner.sql, async (tx) => {
    const [row] = await tx<{ id: string; paymentId: string }[]>`
      select id, payment_id as "paymentId" from idempotency_keys where tenant_id = ${tenant.id}
    `
    if (row === undefined) throw new Error('the payment has no key')
    // The trigger that records moves must not take it for one of the engine.
    await tx`set local session_replication_role = replica`
    await dropResponses(tx, [{ ...row, tenantId: tenant.id, refundId: null }], 'ietf')
  })
}

/** Every later answer must say that the response was dropped. */
async function untilDropped(merchant: Merchant, operation: Operation): Promise<void> {
  const isGone = async () => (await untilAnswered(merchant, operation)).status === GONE
  await poll(DROP_LIMIT_MS, isGone, { pauseMs: POLL_MS })
  operation.droppedAfter = operation.answers.length
}

/** Redis is used again, and what it has equals what PostgreSQL stored. */
async function compareWithStored(merchant: Merchant): Promise<Violation[]> {
  const isUsed = await replayFromCopy(merchant)
  await redisOf(merchant).flush()
  // Without a copy, the answer is the stored one.
  await merchant.replay()
  return isUsed ? [] : [{ invariant: 7, what: 'no copy is used after the fault', isLate: true }]
}

/** A connection that is cut in silence is given up after 5 s. */
const USE_LIMIT_MS = 15_000

/** Replays until an answer comes from a copy; returns whether one did in time. */
async function replayFromCopy(merchant: Merchant): Promise<boolean> {
  const redis = redisOf(merchant)
  const before = await redis.countHits()
  return replayUntil(merchant, async () => (await redis.countHits()) > before)
}

/** Replays at least once; returns whether it was over in time. */
async function replayUntil(
  merchant: Merchant,
  isOver: () => boolean | Promise<boolean>,
): Promise<boolean> {
  const { signal } = merchant
  const replay = async () => {
    await merchant.replay()
    return await isOver()
  }
  return await poll(USE_LIMIT_MS, replay, { pauseMs: POLL_MS, signal })
}
