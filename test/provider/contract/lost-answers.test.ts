// Tests every adapter at a stand-in whose answers get lost or falsified: the outcome of each fault, and
// that a lookup then says what the log of the stand-in says.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals'
import type { Outcome } from '../../../src/domain/operations/outcome.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { callNamesOf, callOf, portCalls } from './calls.ts'
import type { ContractStandIn } from './fixture.ts'
import { fixtures } from './fixtures.ts'
import { identityOf, criteriaOf } from './payments.ts'

const T0_MS = 1_800_000_000_000

/** For faults that last until the time limit. The others end, and a busy machine may take long to send. */
const TIMEOUT_MS = 1_000
const LASTING: readonly string[] = ['hang_before', 'hang_after', 'slow_drip']

interface ExpectedFault {
  readonly outcome: Outcome<unknown>['outcome']
  readonly executes: boolean
  readonly delayMs?: number
}

/** What each fault leaves. Every stand-in has these. */
const faults: Readonly<Record<string, ExpectedFault>> = {
  refuse: { outcome: 'unknown', executes: false, delayMs: 100 },
  reset_before: { outcome: 'unknown', executes: false },
  reset_after: { outcome: 'unknown', executes: true },
  hang_before: { outcome: 'unknown', executes: false },
  hang_after: { outcome: 'unknown', executes: true },
  error_500_before: { outcome: 'unknown', executes: false },
  error_500_after: { outcome: 'unknown', executes: true },
  unavailable: { outcome: 'unknown', executes: false },
  rate_limited: { outcome: 'not_executed', executes: false },
  truncated_body: { outcome: 'unknown', executes: true },
  nonsense_body: { outcome: 'unknown', executes: true },
  wrong_amount: { outcome: 'unknown', executes: true },
  delay: { outcome: 'done', executes: true, delayMs: 20 },
  slow_drip: { outcome: 'unknown', executes: true, delayMs: 60_000 },
}
/** What depends on the call. The others are of the connection, which all calls share. */
const OF_EACH_CALL = [
  'error_500_after',
  'nonsense_body',
  'rate_limited',
  'unavailable',
  'wrong_amount',
]
/** Faults of a lookup. Without those that answer in the end, or change what no lookup compares. */
const failing = Object.keys(faults).filter(
  (fault) => !['delay', 'refuse', 'slow_drip', 'wrong_amount'].includes(fault),
)
const isTested = (name: string, fault: string) =>
  name === 'authorize' || OF_EACH_CALL.includes(fault)

describe.each(fixtures)(
  '$name',
  ({ adapterFor, calls, paymentOf, reads, startStandIn, ...has }) => {
    const names = callNamesOf({ adapterFor })
    const cases = names.flatMap((name) =>
      Object.entries(faults).map(([fault, expected]) => ({ name, fault, ...expected })),
    )
    const looks = names.flatMap((name) => failing.map((fault) => ({ name, fault })))
    let standIn: ContractStandIn
    let adapter: PaymentProvider

    beforeAll(async () => {
      standIn = await startStandIn(() => T0_MS)
      adapter = adapterFor(standIn.url)
    })
    beforeEach(async () => standIn.reset())
    afterAll(async () => standIn.close())

    const executed = async (kind: string) =>
      (await standIn.executed()).filter((entry) => entry.kind === kind)

    test.each(cases.filter(({ name, fault }) => isTested(name, fault)))(
      '$fault in $name: $outcome, and a lookup agrees with the log',
      async ({ name, fault, executes, delayMs = 0, ...expected }) => {
        const { kind, amount, ready, request, confirmsNoAmount } = callOf(calls, name)
        const payment = await ready(adapter, standIn)
        const identity = identityOf(name)
        await standIn.addFault({ match: request, fault, delay_ms: delayMs })

        const made = await portCalls[name].make(
          adapterFor(standIn.url, LASTING.includes(fault) ? TIMEOUT_MS : undefined),
          payment,
          identity,
        )

        const isExempt = confirmsNoAmount === true && fault === 'wrong_amount'
        expect(made.outcome).toBe(isExempt ? 'done' : expected.outcome)
        const find = () => portCalls[name].find(adapter, payment, criteriaOf(identity, T0_MS))
        let found = await find()
        while (found.answered['looked'] === false) found = await find()
        expect(found.outcome).toBe(executes ? 'done' : 'not_executed')
        expect(await executed(kind)).toMatchObject(executes ? [{ amount, currency: 'eur' }] : [])
      },
    )

    test.each(names)(
      '%s: what it has done is found, and looking executes nothing',
      async (name) => {
        const payment = await callOf(calls, name).ready(adapter, standIn)
        const identity = identityOf(name)
        const find = () => portCalls[name].find(adapter, payment, criteriaOf(identity, T0_MS))
        const before = await find()
        const made = await portCalls[name].make(adapter, payment, identity)
        const log = await standIn.executed()

        const after = await find()

        expect(before.outcome).toBe('not_executed')
        expect(after).toMatchObject({ outcome: 'done', value: (made as { value: unknown }).value })
        expect(await standIn.executed()).toEqual(log)
      },
    )

    test('a declined authorization is found as declined, with its failure', async () => {
      const payment = paymentOf({ paymentMethod: has.declinedMethod })
      const identity = identityOf('started')
      const made = await adapter.calls.authorize.execute({ payment }, identity)

      const found = await adapter.calls.authorize.find({ payment }, criteriaOf(identity, T0_MS))

      if (made.outcome !== 'declined') throw new Error(`not declined: ${JSON.stringify(made)}`)
      expect(made.failure.declineCode).not.toBeNull()
      expect(found).toMatchObject({ outcome: 'declined', failure: made.failure })
      expect(await standIn.executed()).toEqual([])
    })

    test.each(looks.filter(({ name, fault }) => isTested(name, fault)))(
      '$name: a lookup that meets $fault proves nothing',
      async ({ name, fault }) => {
        const payment = await callOf(calls, name).ready(adapter, standIn)
        await standIn.addFault({ match: reads, fault })

        const found = await portCalls[name].find(
          adapterFor(standIn.url, 300),
          payment,
          criteriaOf(identityOf(name), T0_MS),
        )

        expect(found.outcome).toBe('unknown')
      },
    )

    test('a look that drips in beyond the time limit proves nothing', async () => {
      await standIn.addFault({ match: reads, fault: 'slow_drip', delay_ms: 60_000 })

      const found = await adapterFor(standIn.url, 100).calls.authorize.find(
        { payment: paymentOf() },
        criteriaOf(identityOf('authorize'), T0_MS),
      )

      expect(found).toMatchObject({ outcome: 'unknown', answered: { error: 'timeout' } })
    })

    test.each(['slow_drip', 'hang_before', 'hang_after', 'delay'])(
      '%s beyond the time limit: unknown when the time is up',
      async (fault) => {
        await standIn.addFault({ fault, delay_ms: 60_000 })
        const startedMs = performance.now()

        const outcome = await adapterFor(standIn.url, TIMEOUT_MS).calls.authorize.execute(
          { payment: paymentOf() },
          identityOf('started'),
        )

        expect(outcome).toMatchObject({ outcome: 'unknown', answered: { error: 'timeout' } })
        expect(performance.now() - startedMs).toBeLessThan(5_000)
      },
    )

    test.each(names.filter((name) => name !== 'authorize'))(
      '%s of a payment that the account does not have: not executed, and waits',
      async (name) => {
        const payment = paymentOf({ providerPaymentId: 'unknown-id' })

        const outcome = await portCalls[name].make(adapter, payment, identityOf(name))

        const waits = { aboutObject: true, retryLater: true }
        const answered = { status: 404 }
        expect(outcome).toMatchObject({ outcome: 'not_executed', ...waits, answered })
      },
    )

    test.each(names.filter((name) => name !== 'authorize'))(
      '%s without an authorization is a bug of the caller, not an outcome',
      async (name) => {
        const made = portCalls[name].make(adapter, paymentOf(), identityOf(name))
        await expect(made).rejects.toThrow('is unknown to the provider')

        const looked = portCalls[name].find(
          adapter,
          paymentOf(),
          criteriaOf(identityOf(name), T0_MS),
        )
        await expect(looked).rejects.toThrow('is unknown to the provider')
      },
    )
  },
)
