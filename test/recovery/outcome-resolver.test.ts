// Tests that only a lookup resolves an unknown outcome: for each operation, and for each way in
// which its call can have ended. The provider's own log shows what was executed.
import { randomUUID } from 'node:crypto'
import { beforeEach, describe, expect, test } from '@jest/globals'
import type { Transaction } from '../../src/db/connection/client.ts'
import { inTenant } from '../../src/db/connection/transaction.ts'
import { storeProviderEvent } from '../../src/db/events/provider-events.ts'
import type { Fence } from '../../src/db/idempotency/idempotency-keys.ts'
import {
  requestCheckIfUnknown,
  requestCheckOfPayment,
} from '../../src/db/operations/requested-checks.ts'
import { showId } from '../../src/domain/resource-id.ts'
import { applyProviderEvent } from '../../src/operations/apply-provider-event.ts'
import { resolveDue, markAbsent } from '../../src/recovery/outcome-resolver.ts'
import { reap } from '../../src/recovery/reaper.ts'
import { reopenOperation } from '../../src/engine/reopen-or-cancel.ts'
import { runOperation } from '../../src/engine/run-phases.ts'
import { sweep } from '../../src/recovery/sweeper.ts'
import {
  aroundCommit,
  giveUp,
  stripeOf,
  withoutRetries,
  withProvider,
} from '../support/engine-doubles.ts'
import type { Accepted } from '../support/engine.ts'
import { refundParameters } from '../../src/provider/stripe/calls/refund.ts'
import { asked, captured, held } from '../operations/made-payments.ts'
import { eventAbout } from '../operations/follow-payment/provider-events.ts'
import { t } from '../support/own-engine.ts'

/** `claim` is the id of an entry of the audit trail. */
const PROOF = {
  claim: randomUUID(),
  proved_absent: true,
  by: 'alice',
  note: 'support says so',
} as const

// Also ends the unknown operations of other tests, so that each test sees only its own checks.
beforeEach(() => t.engine.store.sql`update idempotency_keys set next_check_at = null`)

async function markedAbsent(seen: Fence, reason: string, keepsDoubt = false): Promise<boolean> {
  const mark = (tx: Transaction) => markAbsent(tx, t.engine, seen, { reason, keepsDoubt })
  return (await inTenant(t.engine.store.sql, seen.tenantId, mark)) !== undefined
}

interface Row {
  readonly title: string
  readonly accept: () => Promise<Accepted & { refundId?: string }>
  /** The call whose answer is lost. */
  readonly path: string
  /** Its name in the provider's log. */
  readonly kind: string
  readonly responseStatus: number
  /** The payment after the operation, and while it is proved that nothing happened. */
  readonly ended: object
  readonly absent: object
}

const create = '/v1/payment_intents'

const table: Row[] = [
  {
    title: 'an authorization',
    accept: () => t.accept(),
    path: create,
    kind: 'payment_intent.create',
    responseStatus: 201,
    ended: { status: 'succeeded' },
    absent: { status: 'failed' },
  },
  {
    title: 'an authorization for a manual capture',
    accept: () => t.accept({ captureMethod: 'manual' }),
    path: create,
    kind: 'payment_intent.create',
    responseStatus: 201,
    ended: { status: 'requires_capture' },
    absent: { status: 'failed' },
  },
  {
    title: 'the capture of a new payment',
    accept: () => t.accept(),
    path: `${create}/*/capture`,
    kind: 'payment_intent.capture',
    responseStatus: 201,
    ended: { status: 'succeeded', amountCapturedMinor: 1999 },
    absent: { status: 'requires_capture' },
  },
  {
    title: 'the cancel of a hold whose capture was refused',
    accept: () => t.accept({ paymentMethod: 'pm_fault_capture_amount_too_large' }),
    path: `${create}/*/cancel`,
    kind: 'payment_intent.cancel',
    responseStatus: 402,
    ended: { status: 'declined' },
    absent: { status: 'requires_capture' },
  },
  {
    title: 'a capture',
    accept: async () => t.acceptCapture(await held(t), 500),
    path: `${create}/*/capture`,
    kind: 'payment_intent.capture',
    responseStatus: 200,
    ended: { status: 'succeeded', amountCapturedMinor: 500 },
    absent: { status: 'requires_capture' },
  },
  {
    title: 'a cancel of what is held',
    accept: async () => t.acceptCancel(await held(t)),
    path: `${create}/*/cancel`,
    kind: 'payment_intent.cancel',
    responseStatus: 200,
    ended: { status: 'canceled' },
    absent: { status: 'requires_capture' },
  },
  {
    title: 'a cancel of a payment that waits for its cardholder',
    accept: async () => t.acceptCancel(await asked(t)),
    path: `${create}/*/cancel`,
    kind: 'payment_intent.cancel',
    responseStatus: 200,
    ended: { status: 'canceled' },
    absent: { status: 'requires_action' },
  },
  {
    title: 'a refund',
    accept: async () => t.acceptRefund(await captured(t), 500),
    path: '/v1/refunds',
    kind: 'refund.create',
    responseStatus: 201,
    ended: { status: 'succeeded', amountRefundedMinor: 500 },
    absent: { status: 'succeeded', amountRefundingMinor: 0, amountRefundedMinor: 0 },
  },
]

/** A call of each kind: looked up in a list, at the payment, and among its refunds. */
const classes = table.filter(({ title }) =>
  ['an authorization', 'a capture', 'a refund'].includes(title),
)
const [authorization] = table as [Row, ...Row[]]

const lookUp = { method: 'GET', path: create }

/** An operation whose call met this fault, and whose outcome is unknown now. */
async function madeUnknown(
  { accept, path }: Pick<Row, 'accept' | 'path'>,
  fault: string,
): Promise<Accepted & { refundId?: string }> {
  const ref = await accept()
  await giveUp(t, ref, { method: 'POST', path }, fault)
  expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
  await t.provider.control('DELETE', '/faults')
  return ref
}

const executedOf = async (kind: string, ref: Accepted) =>
  (await t.executedFor(ref)).filter((call) => call.kind === kind)

/** Lets this many seconds pass, here and at the provider. */
async function letTimePassEverywhere(ref: Accepted, seconds: number): Promise<void> {
  await t.letTimePass(ref, seconds)
  for (const { id } of await executedOf('payment_intent.create', ref)) {
    const { created } = await t.provider.stripe.paymentIntents.retrieve(id)
    await t.provider.control('POST', `/objects/${id}`, { created: created - seconds })
  }
}

const findingsOf = ({ id }: Accepted) => t.engine.store.sql`
  select status, resolved_by from reconciliation_findings where object_id = ${showId('op', id)}
`

async function expectEnded(row: Row, ref: Accepted): Promise<void> {
  const { kind, responseStatus, ended } = row
  expect(await t.readKey(ref)).toMatchObject({
    status: 'completed',
    response_status: responseStatus,
    unknown_at: null,
    evidence: null,
  })
  expect(await t.readPayment(ref)).toMatchObject(ended)
  expect(await executedOf(kind, ref)).toHaveLength(1)
}

describe.each(table)('$title whose answer was lost', (row) => {
  test('is completed with the outcome that was found', async () => {
    const ref = await madeUnknown(row, 'nonsense_body')
    await t.letTimePass(ref, 5)

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1, absent: 0, unclear: 0 })

    await expectEnded(row, ref)
  })

  test('is left to its client when it is proved that nothing happened', async () => {
    const ref = await madeUnknown(row, 'unavailable')
    await t.letTimePass(ref, 60)

    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable', in_doubt: false })
    expect(await t.readPayment(ref)).toMatchObject(row.absent)
    expect(await executedOf(row.kind, ref)).toEqual([])
    // The client's retry runs it.
    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await runOperation(t.engine, ref)).toBe('finished')
    await expectEnded(row, ref)
  })
})

describe.each(classes)('$title whose answer was lost', (row) => {
  test('is completed with the outcome that was found long after the provider forgot its key', async () => {
    const ref = await madeUnknown(row, 'nonsense_body')
    await t.provider.control('POST', '/idempotency', { mode: 'forget' })
    await letTimePassEverywhere(ref, 30 * 3_600)

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

    await expectEnded(row, ref)
  })

  test('stays in doubt while the call may still be on its way, although it is not found', async () => {
    const ref = await madeUnknown(row, 'unavailable')
    await t.letTimePass(ref, 5)

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 0, absent: 0, unclear: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', in_doubt: true })
  })
})

describe('an authorization whose answer was lost', () => {
  test('is not due before the first delay', async () => {
    const ref = await madeUnknown(authorization, 'nonsense_body')

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 0, absent: 0, unclear: 0 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', checked_at: null })
  })

  test('is recorded once when two resolvers look it up concurrently', async () => {
    const ref = await madeUnknown(authorization, 'nonsense_body')
    await t.letTimePass(ref, 5)

    const [one, other] = await Promise.all([resolveDue(t.engine), resolveDue(t.engine)])

    expect(one.settled + other.settled).toBe(1)
    await expectEnded(authorization, ref)
  })
})

// https://docs.stripe.com/error-low-level: a 500 is the result of its key from then on.
describe.each(classes)('a failure of the provider in $title', (row) => {
  const failed = async (fault: string) => {
    const ref = await row.accept()
    await t.provider.addFault({ match: { method: 'POST', path: row.path }, fault })
    return { ref, result: await runOperation(t.engine, ref) }
  }

  test('is looked up when a repetition gets it again, and completed with what is found', async () => {
    const { ref, result } = await failed('error_500_after')

    expect(result).toBe('finished')
    await expectEnded(row, ref)
  })

  test('has an unknown outcome when nothing is found', async () => {
    const { ref, result } = await failed('error_500_before')

    expect(result).toBe('gave_up')
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', failure_stored: true })
  })

  test('is completed by a repetition if the provider did not keep it', async () => {
    const { ref, result } = await failed('error_500_early')

    expect(result).toBe('finished')
    await expectEnded(row, ref)
    expect(await t.readKey(ref)).toMatchObject({ failure_stored: false, key_generation: 0 })
  })
})

test('a failure of the provider is remembered even if no repetition gets an answer', async () => {
  const ref = await t.accept()
  const match = { method: 'POST', path: create }
  await t.provider.addFault({ match, fault: 'error_500_before' })
  await t.provider.addFault({ match, fault: 'reset_before', times: 100 })

  expect(await runOperation(t.engine, ref)).toBe('retry')

  expect(await t.readKey(ref)).toMatchObject({ status: 'pending', failure_stored: true })
})

test('a failure of the provider is remembered when the worker crashes before it repeats the call', async () => {
  const ref = await t.accept()
  const match = { method: 'POST', path: create }
  await t.provider.addFault({ match, fault: 'error_500_before' })
  const sleep = () => Promise.reject(new Error('the process died'))
  const dying = { ...t.engine, clock: { ...t.engine.clock, sleep } }

  await expect(runOperation(dying, ref)).rejects.toThrow('the process died')

  expect(await t.readKey(ref)).toMatchObject({ status: 'processing', failure_stored: true })
  await t.expireLease(ref)
  expect(await runOperation(t.engine, ref)).toBe('gave_up')
  expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', failure_stored: true })
})

// https://docs.stripe.com/error-low-level: a call can be executed after its client has left.
describe.each(classes)('the late execution of $title', (row) => {
  test('is found after the settling time, and nothing is concluded before', async () => {
    const ref = await row.accept()
    const match = { method: 'POST', path: row.path }
    await t.provider.addFault({ match, fault: 'reset_late', delay_ms: 80_000 })
    const engine = withoutRetries(t.engine)
    expect(await runOperation(engine, ref)).toBe('gave_up')
    await t.letTimePass(ref, 30)
    expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1 })
    expect(await executedOf(row.kind, ref)).toEqual([])
    await t.provider.control('POST', '/clock', { advance_seconds: 81 })
    await t.letTimePass(ref, 30)

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

    await expectEnded(row, ref)
    expect(await t.readKey(ref)).toMatchObject({ key_generation: 0 })
  })

  test('is found if the provider completes the work of a 500 an hour later', async () => {
    const ref = await row.accept()
    const match = { method: 'POST', path: row.path }
    await t.provider.addFault({ match, fault: 'error_500_late' })
    expect(await runOperation(t.engine, ref)).toBe('gave_up')
    await t.letTimePass(ref, 3_600)
    await t.provider.control('DELETE', '/faults')

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

    await expectEnded(row, ref)
  })
})

describe.each(classes.filter(({ kind }) => kind !== 'refund.create'))(
  'a 500 in $title that the provider may not have kept',
  (row) => {
    const match = { method: 'POST', path: row.path }
    const absent = async (fault: string) => {
      const ref = await row.accept()
      await t.provider.addFault({ match, fault })
      const settings = { ...withoutRetries(t.engine).settings, CALL_ATTEMPTS: 1 }
      expect(await runOperation({ ...t.engine, settings }, ref)).toBe('gave_up')
      await t.letTimePass(ref, 60)
      expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
      expect(await t.readKey(ref)).toMatchObject({ key_generation: 0 })
      return ref
    }

    test('leaves the provider key as it is, and a retry repeats the call', async () => {
      const ref = await absent('error_500_early')

      await reopenOperation(t.engine, ref)
      expect(await runOperation(t.engine, ref)).toBe('finished')

      await expectEnded(row, ref)
      expect(await t.readKey(ref)).toMatchObject({ key_generation: 0 })
    })

    test('is followed by a new provider key once a retry shows that it was kept', async () => {
      const ref = await absent('error_500_before')

      await reopenOperation(t.engine, ref)
      expect(await runOperation(t.engine, ref)).toBe('gave_up')
      await t.letTimePass(ref, 60)
      expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
      await reopenOperation(t.engine, ref)
      expect(await runOperation(t.engine, ref)).toBe('finished')

      await expectEnded(row, ref)
      expect(await t.readKey(ref)).toMatchObject({ failure_stored: false, key_generation: 1 })
    })
  },
)

describe.each(table)('$title under a new provider key', (row) => {
  test('is not executed when the provider has completed the earlier call meanwhile', async () => {
    const ref = await row.accept()
    const match = { method: 'POST', path: row.path }
    await t.provider.addFault({ match, fault: 'error_500_late' })
    await runOperation(t.engine, ref)
    await t.letTimePass(ref, 60)
    await requestCheckIfUnknown(t.engine.store.sql, ref, PROOF)
    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
    expect(await t.readKey(ref)).toMatchObject({ key_generation: 1 })
    await t.provider.control('DELETE', '/faults')

    await reopenOperation(t.engine, ref)
    expect(await runOperation(t.engine, ref)).toBe('finished')

    await expectEnded(row, ref)
  })
})

// The lost answer may have been a 500, which the provider keeps and may complete at any time.
describe('a refund whose answer was lost, and that is not found', () => {
  const lost = async () => {
    const ref = await t.acceptRefund(await captured(t), 500)
    await giveUp(t, ref, { path: '/v1/refunds' }, 'reset_before')
    return ref
  }

  test('is repeated by its client under the same provider key, in doubt', async () => {
    const ref = await lost()
    await t.letTimePass(ref, 60)

    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })

    const { phase_began_at: calledAt } = await t.readKey(ref)
    expect(calledAt).not.toBeNull()
    await reopenOperation(t.engine, ref)
    expect(await t.readKey(ref)).toMatchObject({ in_doubt: true, key_generation: 0 })
    expect(await runOperation(t.engine, ref)).toBe('finished')
    expect(await executedOf('refund.create', ref)).toHaveLength(1)
  })

  test('stays unknown once the provider may have forgotten its key, and becomes a finding', async () => {
    const ref = await lost()
    await t.letTimePass(ref, 3_600)

    expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1, found: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })
})

describe('a refund whose failure the provider keeps', () => {
  const failed = async (amountMinor = 500) => {
    const ref = await t.acceptRefund(await captured(t), amountMinor)
    const match = { method: 'POST', path: '/v1/refunds' }
    await t.provider.addFault({ match, fault: 'error_500_before' })
    await runOperation(t.engine, ref)
    return ref
  }

  // The provider may complete it at any time, and nothing but its key guards it.
  test('stays unknown, however often it is not found, and soon becomes a finding', async () => {
    const ref = await failed()
    await t.letTimePass(ref, 5)
    expect(await resolveDue(t.engine)).toMatchObject({ unclear: 1, found: 0 })
    await t.letTimePass(ref, 60)
    expect(await resolveDue(t.engine)).toMatchObject({ unclear: 1 })
    await t.letTimePass(ref, 30)
    expect(await resolveDue(t.engine)).toMatchObject({ found: 1 })
    for (const seconds of [600, 3_600, 86_400]) {
      await t.letTimePass(ref, seconds)
      expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1, found: 0 })
    }

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
    expect(await findingsOf(ref)).toMatchObject([{ status: 'open' }])
  })

  test('is not recorded as refused when the provider completes it after a wrong proof', async () => {
    const ref = await failed(1999)
    await t.letTimePass(ref, 60)
    await requestCheckIfUnknown(t.engine.store.sql, ref, PROOF)
    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
    const late = refundParameters(await t.readPayment(ref), await t.readRefund(ref), {
      operationId: ref.id,
      providerKey: '',
      sendBeforeMs: Infinity,
    })
    await t.provider.stripe.refunds.create(late)

    await reopenOperation(t.engine, ref)
    expect(await runOperation(t.engine, ref)).toBe('finished')

    expect(await t.readKey(ref)).toMatchObject({ response_status: 201, key_generation: 1 })
    expect(await t.readPayment(ref)).toMatchObject({ amountRefundedMinor: 1999 })
    expect(await executedOf('refund.create', ref)).toHaveLength(1)
  })

  test('runs again under a new provider key when an operator has proved its absence', async () => {
    const ref = await failed()
    await t.letTimePass(ref, 60)
    await requestCheckIfUnknown(t.engine.store.sql, ref, PROOF)

    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await runOperation(t.engine, ref)).toBe('finished')

    expect(await executedOf('refund.create', ref)).toHaveLength(1)
    expect(await t.readPayment(ref)).toMatchObject({ amountRefundedMinor: 500 })
  })

  // The call may still be on its way, and then nothing but its key guards it.
  test('keeps its provider key when an operator states its absence before the settling time', async () => {
    const ref = await failed()
    await requestCheckIfUnknown(t.engine.store.sql, ref, PROOF)

    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
    expect(await reopenOperation(t.engine, ref)).toBe(true)
    expect(await runOperation(t.engine, ref)).toBe('gave_up')

    expect(await t.readKey(ref)).toMatchObject({
      status: 'unknown',
      failure_stored: true,
      key_generation: 0,
    })
    expect(await executedOf('refund.create', ref)).toEqual([])
  })
})

describe('an outcome that cannot be determined', () => {
  test('is looked up on schedule, and then becomes a finding', async () => {
    const ref = await madeUnknown(authorization, 'nonsense_body')
    await t.provider.addFault({ match: lookUp, fault: 'unavailable', times: 9 })
    let passed = 0
    for (const seconds of [5, 60, 600, 3_600, 86_400]) {
      await t.letTimePass(ref, seconds - passed)
      passed = seconds
      expect(await resolveDue(t.engine)).toMatchObject({ unclear: 1 })
    }
    expect(await resolveDue(t.engine)).toMatchObject({ unclear: 0, found: 0 })
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown', next_check_at: null })
    await t.letTimePass(ref, 10)

    expect(await resolveDue(t.engine)).toMatchObject({ found: 1 })
    expect(await resolveDue(t.engine)).toMatchObject({ found: 0 })

    expect(await findingsOf(ref)).toEqual([{ status: 'open', resolved_by: null }])
    expect(await executedOf('payment_intent.create', ref)).toHaveLength(1)
  })

  test('has its finding closed by the resolver when it becomes final after all', async () => {
    const ref = await madeUnknown(authorization, 'nonsense_body')
    await letTimePassEverywhere(ref, 2 * 86_400)
    await t.engine.store.sql`update idempotency_keys set next_check_at = null where id = ${ref.id}`
    expect(await resolveDue(t.engine)).toMatchObject({ found: 1 })

    expect(await requestCheckIfUnknown(t.engine.store.sql, ref)).toBe(true)
    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

    expect(await findingsOf(ref)).toEqual([{ status: 'resolved', resolved_by: 'reconciler' }])
  })

  test('becomes a finding even if a client keeps reading it', async () => {
    const ref = await madeUnknown(authorization, 'nonsense_body')
    await t.provider.addFault({ match: lookUp, fault: 'unavailable', times: 99 })
    await t.letTimePass(ref, 86_400 + 11)

    expect(await resolveDue(t.engine)).toMatchObject({ unclear: 1, found: 1 })
    // A tenth of the day for which it has been unknown.
    await t.letTimePass(ref, 8_500)
    expect(
      await requestCheckOfPayment(t.engine.store.sql, ref, { seconds: 0, mostSeconds: 86_400 }),
    ).toBe(false)
    await t.letTimePass(ref, 1_500)
    expect(
      await requestCheckOfPayment(t.engine.store.sql, ref, { seconds: 0, mostSeconds: 86_400 }),
    ).toBe(true)
    expect(await resolveDue(t.engine)).toMatchObject({ unclear: 1, found: 0 })

    expect(await findingsOf(ref)).toEqual([{ status: 'open', resolved_by: null }])
  })

  test('becomes a new finding when it is unknown again after an operator closed the first one', async () => {
    const { sql } = t.engine.store
    const ref = await madeUnknown(authorization, 'unavailable')
    await t.letTimePass(ref, 86_400 + 11)
    await t.provider.addFault({ match: lookUp, fault: 'unavailable', times: 1 })
    expect(await resolveDue(t.engine)).toMatchObject({ found: 1 })
    await sql`
      update reconciliation_findings
      set status = 'resolved', resolved_at = now(), resolved_by = 'alice'
      where object_id = ${showId('op', ref.id)}
    `
    expect(await resolveDue(t.engine)).toMatchObject({ found: 0 })
    await requestCheckIfUnknown(sql, ref)
    expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
    await reopenOperation(t.engine, ref)
    const fault = { match: { method: 'POST', path: create }, fault: 'unavailable', times: 3 }
    await t.provider.addFault(fault)
    await runOperation(withoutRetries(t.engine), ref)
    await t.provider.addFault({ match: lookUp, fault: 'unavailable', times: 1 })
    // The operator closed it before this outcome became unknown.
    await sql`
      update reconciliation_findings set resolved_at = resolved_at - interval '3 days'
      where object_id = ${showId('op', ref.id)}
    `
    await t.letTimePass(ref, 86_400 + 11)

    expect(await resolveDue(t.engine)).toMatchObject({ found: 1 })

    expect(await findingsOf(ref)).toEqual([{ status: 'open', resolved_by: null }])
  })

  test('keeps every lookup in the timeline', async () => {
    const ref = await madeUnknown(authorization, 'unavailable')
    await t.letTimePass(ref, 5)
    await resolveDue(t.engine)

    const looks = await t.engine.store.sql`
      select phase, outcome, asked ->> 'call' as call from phase_runs
      where operation_id = ${ref.id} order by recorded_at desc, started_at desc limit 1
    `
    expect(looks).toEqual([
      { phase: 'started', outcome: 'not_executed', call: 'payment_intents.list' },
    ])
  })
})

describe('evidence about an unknown outcome', () => {
  const stale = async (fault: string) => {
    const ref = await madeUnknown(authorization, fault)
    await letTimePassEverywhere(ref, 2 * 86_400)
    await t.engine.store.sql`update idempotency_keys set next_check_at = null where id = ${ref.id}`
    return ref
  }

  test('an event of the provider triggers a lookup at once, by the id in the event', async () => {
    const ref = await madeUnknown(authorization, 'nonsense_body')
    const [intent] = await executedOf('payment_intent.create', ref)
    const providerPaymentId = intent?.id ?? ''
    const named = { tenantId: ref.tenantId, id: ref.paymentId, providerPaymentId }
    const event = eventAbout(named)
    await storeProviderEvent(t.engine.store.sql, event)
    expect(await applyProviderEvent(t.engine, event)).toBe('pending')

    expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

    expect(await t.readPayment(ref)).toMatchObject({ status: 'succeeded', providerPaymentId })
    expect(await applyProviderEvent(t.engine, event)).toBe('ignored')
    const [look] = await t.engine.store.sql`
      select asked ->> 'call' as call from phase_runs
      where operation_id = ${ref.id} and reached = 'authorized'
    `
    expect(look).toEqual({ call: 'payment_intents.retrieve' })
  })

  const unverified = { ...PROOF, unverified: true, by: 'alice and bob' } as const
  const lostLook = { match: lookUp, fault: 'hang_before', times: 1 }

  test('a proof that was not believed counts for no later lookup', async () => {
    const ref = await madeUnknown(authorization, 'unavailable')
    await t.provider.addFault({ ...lostLook, fault: 'unavailable' })
    await requestCheckIfUnknown(t.engine.store.sql, ref, PROOF)
    await resolveDue(t.engine)

    await requestCheckIfUnknown(t.engine.store.sql, ref)
    expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1 })

    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
  })

  describe('of two operators, without a look', () => {
    const toldAbsent = async () => {
      const ref = await madeUnknown(authorization, 'nonsense_body')
      await t.provider.addFault({ ...lostLook, fault: 'unavailable' })
      await requestCheckIfUnknown(t.engine.store.sql, ref, unverified)
      expect(await resolveDue(t.engine)).toMatchObject({ absent: 1 })
      expect(await t.readKey(ref)).toMatchObject({
        status: 'failed_retryable',
        in_doubt: false,
        last_error: 'not looked up; did not happen according to alice and bob',
      })
      return ref
    }

    test('charges once when the client retries after the provider has forgotten the key', async () => {
      const ref = await toldAbsent()
      await t.provider.control('POST', '/idempotency', { mode: 'forget' })
      await letTimePassEverywhere(ref, 30 * 3_600)

      await reopenOperation(t.engine, ref)
      expect(await runOperation(t.engine, ref)).toBe('gave_up')
      expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
      await requestCheckIfUnknown(t.engine.store.sql, ref)
      expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

      expect(await executedOf('payment_intent.create', ref)).toHaveLength(1)
    })

    test('gets no final timeout from the reaper, but a finding', async () => {
      const ref = await toldAbsent()
      await t.engine.store.sql`
        update idempotency_keys set expires_at = now() - interval '1 hour' where id = ${ref.id}
      `

      const settings = { TOMBSTONE_RETENTION_SECONDS: 86_400, REAP_BATCH_SIZE: 10 }
      const reaperSettings = { ...t.engine.settings, ...settings, STORE_TIMEOUT_MS: 5_000 }
      expect(await reap(t.engine, reaperSettings)).toMatchObject({ timed_out: 0, abandoned: 1 })

      expect(await t.readKey(ref)).toMatchObject({ status: 'failed_retryable' })
      expect(await findingsOf(ref)).toMatchObject([{ status: 'open' }])
    })

    test('is not believed past the key window', async () => {
      const ref = await stale('nonsense_body')
      await t.provider.addFault({ ...lostLook, fault: 'unavailable' })

      await requestCheckIfUnknown(t.engine.store.sql, ref, unverified)
      expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1 })

      expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
    })

    test('is not believed when the lookup shows something that makes no sense', async () => {
      const ref = await madeUnknown(authorization, 'nonsense_body')
      const [intent] = await executedOf('payment_intent.create', ref)
      await t.provider.control('POST', `/objects/${intent?.id}`, { amount: 1 })

      await requestCheckIfUnknown(t.engine.store.sql, ref, unverified)
      expect(await resolveDue(t.engine)).toMatchObject({ absent: 0, unclear: 1 })
    })
  })

  test('absence is concluded only for an operation that has not changed since', async () => {
    const ref = await stale('unavailable')
    const { lease_epoch: leaseEpoch } = await t.readKey(ref)
    const seen = { ...ref, recoveryPoint: 'started', leaseEpoch: Number(leaseEpoch) }

    expect(await markedAbsent({ ...seen, leaseEpoch: 0 }, 'support said so')).toBe(false)
    expect(await t.readKey(ref)).toMatchObject({ status: 'unknown' })
    expect(await markedAbsent(seen, 'support said so')).toBe(true)

    expect(await t.readKey(ref)).toMatchObject({
      status: 'failed_retryable',
      last_error: 'support said so',
    })
    expect(await t.readPayment(ref)).toMatchObject({ status: 'failed' })
  })

  test.each([false, true])(
    'after a doubt longer than the retention, the client may still retry (doubt kept: %s)',
    async (keepsDoubt) => {
      const ref = await stale('unavailable')
      const { lease_epoch: leaseEpoch } = await t.readKey(ref)
      const seen = { ...ref, recoveryPoint: 'started', leaseEpoch: Number(leaseEpoch) }
      await t.engine.store.sql`
        update idempotency_keys set expires_at = now() - interval '1 day' where id = ${ref.id}
      `
      expect(await markedAbsent(seen, 'not found', keepsDoubt)).toBe(true)

      const [row] = await t.engine.store.sql<{ kept: number }[]>`
        select extract(epoch from expires_at - now())::float8 as kept
        from idempotency_keys where id = ${ref.id}
      `
      const { KEY_RETENTION_SECONDS } = t.engine.settings
      expect(row?.kept).toBeGreaterThan(KEY_RETENTION_SECONDS - 60)
      expect(row?.kept).toBeLessThanOrEqual(KEY_RETENTION_SECONDS)
    },
  )

  test('a reader triggers a check at once, and many readers trigger one check', async () => {
    const ref = await madeUnknown(authorization, 'unavailable')
    const ask = () =>
      requestCheckOfPayment(t.engine.store.sql, ref, { seconds: 10, mostSeconds: 600 })

    expect(await Promise.all([ask(), ask(), ask()])).toEqual(
      expect.arrayContaining([true, false, false]),
    )
    expect(await resolveDue(t.engine)).toMatchObject({ unclear: 1 })
    expect(await ask()).toBe(false)
    await t.letTimePass(ref, 11)
    await resolveDue(t.engine)
    await t.letTimePass(ref, 11)
    expect(await ask()).toBe(true)
  })
})

test('the result of a call from before the operation was reopened is found, too', async () => {
  const ref = await madeUnknown(authorization, 'nonsense_body')
  const { lease_epoch: leaseEpoch } = await t.readKey(ref)
  const seen = { ...ref, recoveryPoint: 'started', leaseEpoch: Number(leaseEpoch) }
  expect(await markedAbsent(seen, 'a wrong proof')).toBe(true)
  await letTimePassEverywhere(ref, 3_600)
  await reopenOperation(t.engine, ref)
  await t.provider.addFault({ match: { path: create }, fault: 'nonsense_body', times: 3 })
  await runOperation(withoutRetries(t.engine), ref)
  await t.letTimePass(ref, 0)
  await requestCheckIfUnknown(t.engine.store.sql, ref)

  expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })

  expect(await executedOf('payment_intent.create', ref)).toHaveLength(1)
})

test('a repeated call is in doubt again, no matter how old the first one is', async () => {
  const ref = await madeUnknown(authorization, 'nonsense_body')
  await t.letTimePass(ref, 5)
  // The outcome is found and the operation is claimed; then the resolver crashes.
  const dying = aroundCommit(t.engine, async (commit) => {
    if ((await t.readKey(ref))['status'] === 'processing') throw new Error('the process died')
    return commit()
  })
  await expect(resolveDue(dying)).rejects.toThrow('the process died')
  expect(await t.readKey(ref)).toMatchObject({ status: 'processing' })
  await t.letTimePass(ref, 600)
  expect(await sweep(t.engine)).toMatchObject({ resumed: 1 })

  await giveUp(t, ref, { method: 'POST', path: create }, 'unavailable')

  const [unknown] = await t.engine.store.sql`
    select unknown_at > now() - interval '1 minute' as recent from idempotency_keys
    where id = ${ref.id}
  `
  expect(unknown).toEqual({ recent: true })
})

test('a failed check does not affect the others, and is repeated at the next check', async () => {
  const ref = await madeUnknown(authorization, 'nonsense_body')
  const other = await madeUnknown(table[6] ?? authorization, 'nonsense_body')
  await t.letTimePass(ref, 5)
  await t.letTimePass(other, 5)
  const provider = stripeOf(t.engine)
  const throwing = () => Promise.reject(new Error('the adapter is broken'))
  const authorize = { ...provider.calls.authorize, find: throwing }
  const calls = { ...provider.calls, authorize }
  const broken = withProvider(t.engine, { ...provider, calls })

  expect(await resolveDue(broken)).toMatchObject({ settled: 1, unclear: 1 })

  expect(await t.readKey(other)).toMatchObject({ status: 'completed' })
  await t.letTimePass(ref, 60)
  expect(await resolveDue(t.engine)).toMatchObject({ settled: 1 })
})
