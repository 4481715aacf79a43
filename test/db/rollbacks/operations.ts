// Transactions that claim operations, record their phases, and take them from owners that went silent.
import { randomUUIDv7 } from 'node:crypto'
import { reopenIfFailed } from '../../../src/db/idempotency/idempotency-keys.ts'
import { reserveIntent } from '../../../src/db/idempotency/intents.ts'
import {
  claimEachIfUnowned,
  enqueueRetry,
  giveBackIfOwner,
  handOverIfOwner,
  type Claim,
} from '../../../src/db/operations/leases.ts'
import {
  type Writes,
  recordEach,
  type PhaseToRecord,
} from '../../../src/db/operations/record-phases.ts'
import {
  deadLetterOrphanedJobs,
  markUnknownIfExpired,
  requeueIfJobless,
  requeueIfExpired,
} from '../../../src/recovery/sweeper.ts'
import { takeDueChecks } from '../../../src/recovery/due-checks.ts'
import { claimUnknownRow } from '../../../src/recovery/outcome-resolver.ts'
import { changePayment, resumePayment } from '../../../src/db/payments/payments.ts'
import { changeRefund } from '../../../src/db/payments/refunds.ts'
import { EARLY_FRAUD_WARNING } from '../../../src/domain/events/event-types.ts'
import { reminderOf } from '../../../src/domain/events/provider-event.ts'
import { entryOfCapture, entryOfRefund } from '../../../src/domain/ledger/ledger.ts'
import type { OperationRef } from '../../../src/domain/operations/operation.ts'
import { writesOfDispute } from '../../../src/domain/payments/dispute.ts'
import { paymentAfter } from '../../../src/domain/payments/payment.ts'
import { refundAfter } from '../../../src/domain/payments/refund.ts'
import { captured } from '../../operations/made-payments.ts'
import { t } from '../../support/own-engine.ts'
import { claimOrThrow, LEASE_MS, response, failed, unknown } from '../reservations.ts'
import { ofService, ofTenant, prepared, update, type Case } from './case.ts'
import { followDispute, providerStatus } from './keys.ts'

const claimed = async (ref?: OperationRef): Promise<Claim> =>
  await claimOrThrow(t.engine.store.sql, ref ?? (await t.accept()))

/** A claimed refund of a captured payment. */
const claimedRefund = async () => {
  const claim = await claimed(await t.acceptRefund(await captured(t), 500))
  const { refund } = claim
  if (refund === null) throw new Error('a refund without its row')
  return { claim, refund }
}

const expired = async (): Promise<Claim> => {
  const claim = await claimed()
  await t.expireLease(claim)
  return claim
}

/** An operation that was given back, and the payment as it is then. */
const givenBack = async (to: Parameters<typeof giveBackIfOwner>[2]): Promise<Claim> => {
  const claim = await claimed()
  await ofTenant((tx) => giveBackIfOwner(tx, claim, to))(t.engine.store.sql)
  return claim
}

/** A payment whose outcome is unknown, with its operation. */
const unknownPayment = async () => {
  const claim = await givenBack(unknown)
  const { key } = claim
  const payment = await t.engine.store.sql.begin((tx) =>
    changePayment(tx, claim.payment, { status: 'unknown' }, key),
  )
  return { claim, payment }
}

const FINISH = { kind: 'finish', response, retentionSeconds: 86_400 } as const

const phaseOf = (claim: Claim, writes: Writes): PhaseToRecord => ({
  claim,
  move: FINISH,
  record: {
    tries: [{ phase: 'started', reached: 'finished', outcome: undefined, startedAt: new Date() }],
    writes,
  },
})

const succeeded = ({ payment }: Claim) =>
  paymentAfter(payment, {
    status: 'succeeded',
    amountCapturedMinor: payment.amountMinor,
    providerPaymentId: `pi_${payment.id}`,
  })

const phaseOfPayment = async (): Promise<PhaseToRecord> => {
  const claim = await claimed()
  const payment = succeeded(claim)
  const ledger = [entryOfCapture(payment, claim.fees)]
  return phaseOf(claim, { payment, ledger, reminder: reminderOf(payment, new Date()) })
}

const phases: readonly Case[] = [
  prepared('phases of two payments, with postings and reminders', async () => {
    const both = [await phaseOfPayment(), await phaseOfPayment()]
    return (sql) => recordEach(sql, both)
  }),
  prepared('a phase that advances', async () => {
    const claim = await claimed()
    const move = { kind: 'advance', to: 'authorized', leaseMs: LEASE_MS } as const
    return (sql) => recordEach(sql, [{ ...phaseOf(claim, { payment: succeeded(claim) }), move }])
  }),
  prepared('a phase of a refund', async () => {
    const { claim, refund: before } = await claimedRefund()
    const refund = refundAfter(before, {
      status: 'succeeded',
      moved: true,
      providerRefundId: `re_${before.id}`,
    })
    const phase = phaseOf(claim, { refund, ledger: [entryOfRefund(refund)] })
    return (sql) => recordEach(sql, [phase])
  }),
  prepared('a phase of a dispute', async () => {
    const { intent, write } = followDispute((await captured(t)).paymentId)
    await reserveIntent(t.engine.store.sql, intent, write)
    const claim = await claimed(intent)
    if (claim.dispute === null) throw new Error('a dispute without its row')
    const phase = phaseOf(claim, writesOfDispute(claim.dispute, providerStatus))
    return (sql) => recordEach(sql, [phase])
  }),
  prepared('a phase that announces', async () => {
    const phase = phaseOf(await claimed(), { announces: EARLY_FRAUD_WARNING })
    return (sql) => recordEach(sql, [phase])
  }),
  prepared('a phase that stores something, and announces', async () => {
    const stores = { description: 'stored' }
    const phase = phaseOf(await claimed(), { announces: EARLY_FRAUD_WARNING, stores })
    return (sql) => recordEach(sql, [phase])
  }),
]

const changes: readonly Case[] = [
  prepared('a change of a payment', async () => {
    const { key, payment } = await claimed()
    return ofTenant((tx) => changePayment(tx, payment, { status: 'unknown' }, key))
  }),
  prepared('a change of a refund', async () => {
    const { claim, refund } = await claimedRefund()
    return ofTenant((tx) => changeRefund(tx, refund, { status: 'failed' }, claim.key))
  }),
  prepared('a payment that is resumed', async () => {
    const { claim, payment } = await unknownPayment()
    return ofTenant((tx) => resumePayment(tx, payment, claim.key))
  }),
]

const moves: readonly Case[] = [
  prepared('a claim', async () => {
    const refs = [await t.accept(), await t.accept()]
    return (sql) => claimEachIfUnowned(sql, refs, LEASE_MS)
  }),
  prepared('a hand-over', async () => {
    const claim = await claimed()
    return ofTenant((tx) => handOverIfOwner(tx, claim, true))
  }),
  prepared('a retry', async () => {
    const ref = await t.accept()
    return ofTenant((tx) => enqueueRetry(tx, ref))
  }),
  prepared('a failed operation that is reopened', async () => {
    const claim = await givenBack(failed)
    return ofTenant((tx) => reopenIfFailed(tx, claim))
  }),
  prepared('an expired lease', async () => {
    const claim = await expired()
    return ofService((tx) => requeueIfExpired(tx, [claim]))
  }),
  prepared('an expired lease of a call that may not be repeated', async () => {
    const claim = await expired()
    return ofTenant((tx) => markUnknownIfExpired(tx, claim, [5]))
  }),
  {
    name: 'an operation without a job',
    before: update('delete from atomic_jobs.job'),
    run: ofService((tx) => requeueIfJobless(tx)),
  },
  {
    name: 'a job without an operation',
    before: update(`
      insert into atomic_jobs.job (name, data, created_on) values (
        'operations',
        '{"tenantId": "${randomUUIDv7()}", "operationId": "${randomUUIDv7()}"}',
        now() - interval '1 day'
      )
    `),
    run: (sql) => deadLetterOrphanedJobs(sql),
  },
  prepared('a check that is due', async () => {
    const { id } = await givenBack(unknown)
    await t.engine.store.sql`
      update idempotency_keys set next_check_at = now() - interval '1 second' where id = ${id}
    `
    return (sql) => takeDueChecks(sql, [5, 60], 10)
  }),
  prepared('an unknown outcome that is claimed', async () => {
    const claim = await givenBack(unknown)
    return ofTenant((tx) => claimUnknownRow(tx, claim, LEASE_MS))
  }),
]

export const operationCases: readonly Case[] = [...phases, ...changes, ...moves]
