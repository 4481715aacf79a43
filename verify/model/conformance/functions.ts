// Draws the programs of histories: functions of the product that send statements.
import { randomUUIDv7 } from 'node:crypto'
import { type Random, seededRandom } from '../../simulate/random.ts'
import type { Sql, Transaction } from '../../../src/db/connection/client.ts'
import { inService } from '../../../src/db/connection/transaction.ts'
import * as cancellations from '../../../src/db/idempotency/cancellations.ts'
import * as providerEvents from '../../../src/db/events/provider-events.ts'
import { writePaymentEvents } from '../../../src/db/events/write-events.ts'
import { reopenIfFailed } from '../../../src/db/idempotency/idempotency-keys.ts'
import { reserveEach } from '../../../src/db/idempotency/intents.ts'
import { reserveKeys } from '../../../src/db/idempotency/reserve-keys.ts'
import type { Claim } from '../../../src/db/operations/leases.ts'
import * as leases from '../../../src/db/operations/leases.ts'
import { useEncryption } from '../../../src/encryption/encryption.ts'
import { noEncryption } from '../programs/product.ts'
import { readOperation, readOperationState } from '../../../src/db/operations/operation-rows.ts'
import { insertDispute, selectDispute } from '../../../src/db/payments/disputes.ts'
import * as payments from '../../../src/db/payments/payments.ts'
import { type PhaseToRecord, recordEach } from '../../../src/db/operations/record-phases.ts'
import { appendPhaseRuns } from '../../../src/db/operations/phase-runs.ts'
import * as refunds from '../../../src/db/payments/refunds.ts'
import { takeDueChecks } from '../../../src/recovery/due-checks.ts'
import { claimUnknownRow, findProviderPaymentIds } from '../../../src/recovery/outcome-resolver.ts'
import * as reaper from '../../../src/recovery/reaper.ts'
import { closeFindingsOfIdle, openFindingsOfStuck } from '../../../src/recovery/stuck-outcomes.ts'
import * as sweeper from '../../../src/recovery/sweeper.ts'
import { findSecondsUntilStart } from '../../../src/http/keyed/keyed-answer.ts'
import { EARLY_FRAUD_WARNING } from '../../../src/domain/events/event-types.ts'
import { CANCELLATION } from '../../../src/domain/events/provider-event.ts'
import { entryOfCapture } from '../../../src/domain/ledger/ledger.ts'
import { type Payment, paymentAfter } from '../../../src/domain/payments/payment.ts'
import type { DisputeProviderStatus } from '../../../src/domain/payments/dispute.ts'
import type { Refund } from '../../../src/domain/payments/refund.ts'
import {
  claim as exampleClaim,
  dispute as exampleDispute,
  payment as examplePayment,
  refund as exampleRefund,
} from '../../statements/example.ts'
import {
  MODEL_ID_PREFIX,
  nameOfKey,
  operationIdOf,
  paymentIdOf,
  REFUNDED_PAYMENT_ID,
  refundIdOf,
  TENANT_ID,
} from '../programs/ids.ts'
import type { Environment } from '../programs/run.ts'
import { KEY_WINDOW_SECONDS } from '../programs/settings.ts'
import { REFUND_MINOR } from '../space/space.ts'
import { REFERENCES, REFUND_KEYS } from './fixture.ts'

/** Calls a function in a transaction. */
type Call = (sql: Sql & Transaction, random: Random) => Promise<unknown>

export interface DrawnProgram {
  /** The functions that it calls. */
  readonly names: readonly string[]
  readonly run: (environment: Pick<Environment, 'sql'>) => Promise<void>
}

useEncryption(noEncryption)

const SEED_MAX = 2 ** 31
const CALLS_MAX = 4

/** Draws a program: functions in one transaction, often one alone. Each run of it does the same. */
export function drawProgram(random: Random): DrawnProgram {
  const count = random.percent(30) ? 1 : 1 + random.below(CALLS_MAX)
  const drawn = Array.from({ length: count }, () => random.pick(Object.entries(calls)))
  const seed = random.below(SEED_MAX)
  return {
    names: drawn.map(([name]) => name),
    async run({ sql }) {
      const own = seededRandom(seed)
      await inService(sql, async (tx) => {
        for (const [, call] of drawn) await call(joining(tx), own)
        if (own.percent(30)) throw new Error('rolls back')
      })
    },
  }
}

/** Functions that begin a transaction join this one. */
export function joining(tx: Transaction): Sql & Transaction {
  const joined: Sql & Transaction = Object.assign(
    ((...template: Parameters<Transaction>) => tx(...template)) as never,
    {
      unsafe: (text: string) => tx.unsafe(text),
      begin: (work: (own: Transaction) => unknown) => work(joined),
    },
  )
  return joined
}

const EXPIRY_BATCH = {
  limit: 50,
  retention: {
    KEY_RETENTION_SECONDS: 86_400,
    KEY_RETENTION_SECONDS_BY_OPERATION: { 'refund.create': 172_800 },
  },
}
const SWEEP_RULE = {
  keyWindows: [{ provider: 'stripe', seconds: KEY_WINDOW_SECONDS }],
  localPhases: [{ operation: 'payment.create', recoveryPoint: 'captured' }],
  attempts: 2,
}
const CHECK_DELAYS_SECONDS = [5, 60]
/** The last check is not due in any history. */
const LONG_CHECK_DELAYS_SECONDS = [5, 86_400]
const STUCK = {
  lastDelaySeconds: 60,
  unprovable: [{ operation: 'refund.create', recoveryPoint: 'started' }],
  limits: [{ provider: 'stripe', settleSeconds: 30, keyWindowSeconds: 3_600 }],
  afterMs: 30_000,
}
const NO_ANSWER = { reason: 'no answer', checkDelaysSeconds: CHECK_DELAYS_SECONDS }
const STATED = {
  ...NO_ANSWER,
  status: 'failed_retryable',
  inDoubt: true,
  retentionSeconds: 86_400,
} as const
const LEASE_MS = 3_600_000
const RESPONSE = { status: 201, headers: {}, body: '{}' }

const anyKey = (random: Random): number => random.below(5)
const refOf = (key: number) => ({ tenantId: TENANT_ID, id: operationIdOf(key, 1) })
const anyRef = (random: Random) => refOf(anyKey(random))
const anyEvent = (random: Random) => ({
  provider: 'stripe',
  id: `${CANCELLATION}_${anyRef(random).id}`,
})

const anyOperation = (random: Random) => operationOf(random, anyKey(random))

function operationOf(random: Random, key: number): Claim {
  const isRefund = REFUND_KEYS.includes(key)
  return {
    ...exampleClaim,
    ...refOf(key),
    operation: isRefund ? 'refund.create' : 'payment.create',
    key: nameOfKey(key),
    paymentId: isRefund ? REFUNDED_PAYMENT_ID : paymentIdOf(key, 1),
    recoveryPoint: isRefund ? 'started' : random.pick(['started', 'authorized']),
    leaseEpoch: random.pick([1, 1, 1, 2]),
    payment: paymentOf(key),
    refund: null,
  }
}

const paymentOf = (key: number): Payment => ({
  ...examplePayment,
  tenantId: TENANT_ID,
  id: paymentIdOf(Math.min(key, 2), 1),
  amountMinor: 1_000,
  amountCapturedMinor: 0,
  previousStatus: 'processing',
  providerPaymentId: null,
})

const refundOf = (key: number, status: Refund['status']): Refund => ({
  ...exampleRefund,
  tenantId: TENANT_ID,
  id: refundIdOf(key, 1),
  paymentId: REFUNDED_PAYMENT_ID,
  amountMinor: REFUND_MINOR,
  status,
})

function reservation(random: Random, isRefund: boolean) {
  return {
    tenantId: TENANT_ID,
    id: randomUUIDv7(),
    key: random.pick([nameOfKey(anyKey(random)), 'key-5', 'key-6']),
    fingerprint: Buffer.alloc(1),
    operation: isRefund ? 'refund.create' : 'payment.create',
    paymentId: isRefund ? REFUNDED_PAYMENT_ID : randomUUIDv7(),
    refundId: isRefund ? randomUUIDv7() : null,
    parameters: {},
    retentionSeconds: 86_400,
  }
}

const DISPUTE_ID = `${MODEL_ID_PREFIX}05-000000000001`

const INQUIRY: DisputeProviderStatus = {
  ...exampleDispute,
  status: 'warning_needs_response',
  evidenceDueAt: null,
}

/** An intent about the dispute of a payment, often of one with a refund. */
function followingOf(random: Random) {
  const paymentId = random.pick([REFUNDED_PAYMENT_ID, paymentIdOf(random.below(3), 1)])
  const following = { operation: 'dispute.follow', paymentId, disputeId: DISPUTE_ID }
  return { ...reservation(random, false), ...following }
}

function advanceOf(claim: Claim): PhaseToRecord {
  const payment = paymentAfter(claim.payment, { status: 'processing' })
  return {
    claim,
    move: { kind: 'advance', to: 'authorized', leaseMs: LEASE_MS },
    record: { tries: [{ ...PHASE_RUN, reached: 'authorized' }], writes: { payment } },
  }
}

function finishOf(claim: Claim): PhaseToRecord {
  const change = {
    status: 'succeeded',
    providerPaymentId: 'pi_1',
    amountCapturedMinor: 1_000,
  } as const
  const payment = paymentAfter(claim.payment, change)
  const ledger = [entryOfCapture(payment, claim.fees)]
  return {
    claim,
    move: { kind: 'finish', response: RESPONSE, retentionSeconds: 86_400 },
    record: { tries: [{ ...PHASE_RUN, reached: 'finished' }], writes: { payment, ledger } },
  }
}

const PHASE_RUN = { phase: 'started', reached: null, outcome: undefined, startedAt: new Date(0) }

const calls: Readonly<Record<string, Call>> = {
  claim: (sql, random) => leases.claimEachIfUnowned(sql, [anyRef(random)], LEASE_MS),
  'claim two': (sql, random) =>
    leases.claimEachIfUnowned(
      sql,
      [0, 1].map((key) => refOf(key + random.below(3))),
      LEASE_MS,
    ),
  renew: (sql, random) => leases.renewIfOwner(sql, anyOperation(random), LEASE_MS),
  'give back': (sql, random) =>
    leases.giveBackIfOwner(sql, anyOperation(random), {
      ...random.pick([
        { status: 'pending', inDoubt: true },
        { status: 'unknown', inDoubt: true },
        { status: 'failed_retryable', inDoubt: false },
        { status: 'failed_retryable', inDoubt: false, retentionSeconds: 86_400 },
      ] as const),
      ...NO_ANSWER,
    }),
  'enqueue retry': (sql, random) => leases.enqueueRetry(sql, anyOperation(random)),
  'record stored failure': (sql, random) =>
    leases.recordStoredFailureIfOwner(sql, anyOperation(random), random.percent(50)),
  'drop fallback': (sql, random) => leases.dropFallbackIfOwner(sql, anyOperation(random)),
  'hand over': (sql, random) =>
    leases.handOverIfOwner(sql, anyOperation(random), random.percent(50)),
  advance: (sql, random) => recordEach(sql, [advanceOf(anyOperation(random))]),
  finish: (sql, random) => recordEach(sql, [finishOf(anyOperation(random))]),
  // The payments of the first three keys differ.
  'finish two': (sql, random) =>
    recordEach(
      sql,
      [0, 1 + random.below(2)].map((key) => finishOf(operationOf(random, key))),
    ),
  'append runs': (sql, random) =>
    appendPhaseRuns(sql, [{ owner: anyOperation(random), tries: [PHASE_RUN] }]),
  'read operation': (sql, random) => readOperation(sql, anyRef(random)),
  'read state': (sql, random) => readOperationState(sql, anyRef(random)),
  'change payment': (sql, random) => {
    const status = random.pick(['unknown', 'failed'] as const)
    return payments.changePayment(sql, paymentOf(random.below(3)), { status }, 'key')
  },
  'reopen payment': (sql, random) => {
    const payment = { ...paymentOf(random.below(3)), status: 'failed' } as const
    return payments.changePayment(sql, payment, { status: 'processing' }, 'key')
  },
  'find user of reference': (sql, random) =>
    payments.findUserOfReference(sql, {
      tenantId: TENANT_ID,
      kind: random.pick(['payment', 'refund'] as const),
      reference: random.pick(['order-1', 'order-2']),
    }),
  'resume payment': (sql, random) => payments.resumePayment(sql, paymentOf(random.below(3)), 'key'),
  'change refund': (sql, random) => {
    const refund = refundOf(
      random.pick(REFUND_KEYS),
      random.pick(['processing', 'failed'] as const),
    )
    const status =
      refund.status === 'failed' ? 'processing' : random.pick(['failed', 'unknown'] as const)
    return refunds.changeRefund(sql, refund, { status }, 'key')
  },
  'reserve a payment': (sql, random) => {
    const payment = { ...paymentOf(0), reference: random.pick(REFERENCES) }
    const details = payments.detailsOfPayment(payment, 'stripe')
    return reserveEach(sql, [{ ...reservation(random, false), details }], payments.insertPayments)
  },
  // Often with the same key or reference. No customer belongs to the tenant.
  'reserve two payments': (sql, random) => {
    const intents = [0, 1].map(() => {
      const customer = random.pick([null, null, 'cus_1'])
      const payment = { ...paymentOf(0), customer, reference: random.pick(REFERENCES) }
      return {
        ...reservation(random, false),
        details: payments.detailsOfPayment(payment, 'stripe'),
      }
    })
    return reserveEach(sql, intents, payments.insertPayments)
  },
  'reserve a refund': (sql, random) => {
    const refund = {
      amountMinor: random.pick([REFUND_MINOR, null]),
      reason: null,
      reference: random.pick(REFERENCES),
      metadata: {},
    }
    const details = { ...refund }
    return reserveEach(sql, [{ ...reservation(random, true), details }], refunds.insertRefunds)
  },
  'reserve a cancel': (sql, random) => {
    const paymentId = paymentIdOf(random.below(3), 1)
    const intent = { ...reservation(random, false), operation: 'payment.cancel', paymentId }
    // None is held.
    return reserveEach(sql, [intent], payments.markProcessingIfIn(['failed', 'unknown']))
  },
  // Nothing is written for it, so that its references are not met.
  'reserve only a key': (sql, random) =>
    reserveKeys(sql, TENANT_ID, [reservation(random, random.percent(30))]),
  'open a dispute': (sql, random) =>
    reserveEach(
      sql,
      [followingOf(random)],
      insertDispute({
        providerDisputeId: 'dp_1',
        openedAt: new Date(0),
        providerStatus: random.pick([INQUIRY, { ...INQUIRY, status: 'needs_response' }]),
      }),
    ),
  'follow a dispute': (sql, random) => reserveEach(sql, [followingOf(random)], selectDispute),
  announce: (sql, random) =>
    writePaymentEvents(sql, TENANT_ID, [paymentIdOf(random.below(3), 1)], EARLY_FRAUD_WARNING),
  'cancel if not begun': (sql, random) =>
    cancellations.cancelIfNotBegun(
      sql,
      anyRef(random),
      random.pick(['pending', 'failed_retryable'] as const),
      {
        response: { ...RESPONSE, status: 410 },
        retention: { KEY_RETENTION_SECONDS: 86_400 },
      },
    ),
  'request cancellation': (sql, random) => {
    const key = anyKey(random)
    const paymentId = REFUND_KEYS.includes(key) ? REFUNDED_PAYMENT_ID : paymentIdOf(key, 1)
    const kept = { provider: 'stripe', retentionSeconds: 86_400 }
    return cancellations.requestCancellation(sql, { ...refOf(key), paymentId }, kept)
  },
  'find cancellation': (sql, random) => cancellations.findCancellation(sql, anyRef(random)),
  'end cancellation': (sql, random) =>
    cancellations.endCancellation(sql, anyRef(random), random.pick(['undone', 'refused'] as const)),
  'find event': (sql, random) => providerEvents.findProviderEvent(sql, anyEvent(random)),
  'close event': (sql, random) =>
    providerEvents.closeProviderEventIfPending(
      sql,
      anyEvent(random),
      random.pick(['applied', 'ignored'] as const),
    ),
  'find payment': (sql, random) =>
    payments.findPayment(sql, TENANT_ID, paymentOf(random.below(3)).id),
  'find refund': (sql, random) =>
    refunds.findRefund(sql, TENANT_ID, refundIdOf(random.pick(REFUND_KEYS), 1)),
  'find what is not returned': (sql, random) => {
    const id = random.pick([REFUNDED_PAYMENT_ID, paymentIdOf(random.below(3), 1)])
    return refunds.findUnreturned(sql, { tenantId: TENANT_ID, id })
  },
  reopen: (sql, random) => reopenIfFailed(sql, anyRef(random)),
  'find expired': (sql, random) =>
    sweeper.findExpired(sql, SWEEP_RULE, { isRepeatable: random.percent(50), limit: 50 }),
  'resume expired': async (sql) => {
    const batch = { isRepeatable: true, limit: 50 }
    await sweeper.requeueIfExpired(sql, await sweeper.findExpired(sql, SWEEP_RULE, batch))
  },
  park: (sql, random) => sweeper.markUnknownIfExpired(sql, anyRef(random), CHECK_DELAYS_SECONDS),
  'requeue jobless': (sql) => sweeper.requeueIfJobless(sql),
  'dead-letter orphaned jobs': (sql) => sweeper.deadLetterOrphanedJobs(sql),
  'drop dead letters': (sql) => sweeper.deleteObsoleteDeadLetters(sql),
  'claim checks': (sql, random) =>
    takeDueChecks(sql, random.pick([CHECK_DELAYS_SECONDS, LONG_CHECK_DELAYS_SECONDS]), 16),
  'take back': (sql, random) => claimUnknownRow(sql, anyOperation(random), LEASE_MS),
  'find stuck': (sql) => openFindingsOfStuck(sql, STUCK),
  'close findings': (sql) => closeFindingsOfIdle(sql),
  'end a doubt and its finding': async (sql, random) => {
    const unknown = { ...anyOperation(random), leaseEpoch: 1 }
    await takeDueChecks(sql, CHECK_DELAYS_SECONDS, 16)
    await openFindingsOfStuck(sql, STUCK)
    await claimUnknownRow(sql, unknown, LEASE_MS)
    await leases.giveBackIfOwner(sql, { ...unknown, leaseEpoch: 2 }, STATED)
    await closeFindingsOfIdle(sql)
  },
  'time out': (sql) => reaper.timeOutIfAbandoned(sql, { ...RESPONSE, status: 408 }, EXPIRY_BATCH),
  'complete overtaken': (sql) =>
    reaper.completeIfOvertaken(sql, { ...RESPONSE, status: 409 }, EXPIRY_BATCH),
  'keep halfway': (sql) => reaper.reportAbandoned(sql, EXPIRY_BATCH),
  'delete expired keys': (sql) => reaper.deleteExpiredKeys(sql, 50),
  'use a deleted key again': async (sql, random) => {
    await reaper.deleteExpiredKeys(sql, 50)
    const key = nameOfKey(anyKey(random))
    await reserveKeys(sql, TENANT_ID, [{ ...reservation(random, false), key }])
  },
  'delete old tombstones': (sql, random) =>
    reaper.deleteOldTombstones(sql, { limit: 50, retentionSeconds: random.pick([-1_000, 1_000]) }),
  'find the start of a retry': (sql, random) => findSecondsUntilStart(sql, anyRef(random)),
  'find ids of the provider': (sql, random) =>
    findProviderPaymentIds(sql, paymentOf(random.below(3))),
}
