// Breaks each promise with a minimal change of the records, and checks which promises are reported.
import { describe, expect, test } from '@jest/globals'
import type { Payment, Refund } from '../../../client/index.ts'
import type {
  Answer,
  History,
  Operation,
  RefusedRequest,
} from '../../../verify/simulate/history.ts'
import { checkInvariants } from '../../../verify/simulate/invariants.ts'
import type { Executed } from '../../../verify/simulate/faults.ts'
import type { LedgerBalance, LedgerTransaction, Records } from '../../../verify/simulate/records.ts'

const RUN = 'sim-1'

/** One payment of 1000 that was captured, with a refund of 400. */
function makeHistory(): History {
  const metadata = { simulation: RUN, simulated: '1' }
  return {
    run: RUN,
    startedAt: new Date('2026-01-31T12:00:00Z'),
    operations: [
      {
        content: {
          kind: 'payment.create',
          body: {
            amount: 1000,
            currency: 'usd',
            payment_method: 'pm_card_visa',
            capture_method: 'automatic',
            metadata,
          },
        },
        key: 'key-1',
        label: '1',
        answers: [answer({ resource: { id: 'pay_1', status: 'succeeded' } })],
        pending: undefined,
      },
      {
        content: { kind: 'refund.create', paymentId: 'pay_1', body: { amount: 400, metadata } },
        key: 'key-2',
        label: '1.1',
        answers: [answer({ resource: { id: 're_1', status: 'succeeded' } })],
        pending: undefined,
      },
    ],
    refused: [{ key: 'key-1', label: '1.other', why: 'reuse', answer: refusal() }],
  }
}

function makeRecords() {
  return {
    payments: [payment()],
    refunds: [{ id: 're_1', status: 'succeeded', amount: 400 } as Refund],
    executed: [
      executed('payment_intent.create', 1000),
      executed('payment_intent.capture', 1000),
      executed('refund.create', 400, { simulated: '1.1', atomic_refund: 're_1' }),
    ],
    ledger: [
      posted({ provider_receivable: 1000, merchant_payable: -1000 }),
      posted({ merchant_payable: 30, fees: -30 }),
      posted({ refunds: 400, provider_receivable: -400 }),
    ],
    balancesBefore: [balance('provider_receivable', 50), balance('merchant_payable', -50)],
    balancesAfter: [
      balance('provider_receivable', 650),
      balance('merchant_payable', -1020),
      balance('fees', -30),
      balance('refunds', 400),
    ],
  } satisfies Records
}

function answer(changes: Partial<Answer> = {}): Answer {
  const usual = { status: 201, resource: {}, digest: 'a', isReplay: false, problem: undefined }
  return { ...usual, ...changes }
}

function refusal(): Answer {
  return answer({ status: 422, problem: 'idempotency-key-reused' })
}

function payment(changes: Partial<Payment> = {}): Payment {
  return {
    id: 'pay_1',
    status: 'succeeded',
    currency: 'usd',
    amount: 1000,
    amount_captured: 1000,
    metadata: { simulation: RUN, simulated: '1' },
    ...changes,
  } as Payment
}

function executed(kind: string, amount: number, metadata: Record<string, string> = {}): Executed {
  const own = { simulation: RUN, simulated: '1', atomic_payment: 'pay_1', ...metadata }
  return { seq: 1, kind, id: 'pi_1', amount, currency: 'usd', metadata: own }
}

function posted(amounts: Record<string, number>): LedgerTransaction {
  const entries = Object.entries(amounts).map(([account, amount]) => ({
    account,
    amount,
    currency: 'usd',
  }))
  return { payment: 'pay_1', entries } as LedgerTransaction
}

function balance(account: LedgerBalance['account'], amount: number): LedgerBalance {
  return { object: 'ledger_balance', account, currency: 'usd', amount }
}

/** The broken promises with their violations. */
function findBroken(history: History, records: Records): Record<string, readonly string[]> {
  const verdicts = checkInvariants(history, records)
  return Object.fromEntries(
    verdicts.filter(({ broken }) => broken.length > 0).map((one) => [one.promise, one.broken]),
  )
}

/** Adds a second payment, without ledger entries. */
function addPayment(records: ReturnType<typeof makeRecords>, status: Payment['status']): void {
  records.payments.push(
    payment({
      id: 'pay_2',
      status,
      amount_captured: 0,
      metadata: { simulation: RUN, simulated: '1.1' },
    }),
  )
}

const OF_SECOND = { atomic_payment: 'pay_2', simulated: '1.1' }

test('consistent records break no promise', () => {
  expect(findBroken(makeHistory(), makeRecords())).toEqual({})
})

type Change = (records: ReturnType<typeof makeRecords>, history: History) => void

interface Case {
  readonly what: string
  readonly change: Change
  /** Words of each broken promise, with words of its violation. */
  readonly broken: Readonly<Record<string, string>>
}

const cases: readonly Case[] = [
  {
    what: 'an authorisation executed twice',
    change: ({ executed: log }) => log.push(executed('payment_intent.create', 1000)),
    broken: { 'authorised twice': 'pay_1: payment_intent.create pi_1 1000 usd, payment' },
  },
  {
    what: 'an authorisation at another provider, which was released',
    change: ({ executed: log }) => {
      const metadata = { atomic_payment: 'pay_1' }
      const other = { id: 'tr_1', metadata, provider: 'other' }
      log.push({ ...executed('payment_intent.create', 1000), ...other })
      log.push({ ...executed('payment_intent.cancel', 1000), ...other })
    },
    broken: { 'two providers': 'pay_1: payment_intent.create pi_1 1000 usd, payment' },
  },
  {
    what: 'a capture executed twice',
    change: ({ executed: log }) => log.push(executed('payment_intent.capture', 1000)),
    broken: {
      'captured once': 'pay_1: 1000 usd expected',
      'ledger matches': '2000 captured, 400 refunded and 0 disputed',
    },
  },
  {
    what: 'a success that the provider does not know',
    change: ({ executed: log }) => log.splice(1, 1),
    broken: {
      'captured once': 'nothing executed',
      'beyond its capture': '0 captured, 400 refunded',
      'ledger matches': '0 captured',
    },
  },
  {
    what: 'a capture of another amount than requested, in all records',
    change: ({ payments, executed: log }) => {
      payments[0] = payment({ amount_captured: 999 })
      log[1] = executed('payment_intent.capture', 999)
    },
    broken: { 'captured once': '1000 usd expected', 'ledger matches': '999 captured' },
  },
  {
    what: 'a declined payment that was authorised',
    change: (records) => {
      addPayment(records, 'declined')
      records.executed.push(executed('payment_intent.create', 70, OF_SECOND))
    },
    broken: { 'moved no money': 'pay_2 is declined: payment_intent.create pi_1 70' },
  },
  {
    what: 'a canceled payment whose authorization is still held',
    change: (records) => {
      addPayment(records, 'canceled')
      records.executed.push(executed('payment_intent.create', 70, OF_SECOND))
    },
    broken: { 'moved no money': 'pay_2 is canceled' },
  },
  {
    what: 'a failed payment that was captured',
    change: (records) => {
      addPayment(records, 'failed')
      records.executed.push(executed('payment_intent.capture', 70, OF_SECOND))
    },
    broken: { 'moved no money': 'pay_2 is failed', 'ledger matches': 'pay_2: 70 captured' },
  },
  {
    what: 'a refund executed twice',
    change: ({ executed: log }) => log.push({ ...(log[2] as Executed), id: 're_x' }),
    broken: { 'those on record': 're_1: succeeded, 400', 'ledger matches': '800 refunded' },
  },
  {
    what: 'an unrecorded refund beyond the capture',
    change: ({ executed: log }) =>
      log.push(executed('refund.create', 700, { atomic_refund: 're_9' })),
    broken: {
      'those on record': 'not on record: refund.create pi_1 700',
      'beyond its capture': '1000 captured, 1100 refunded',
      'ledger matches': '1100 refunded',
    },
  },
  {
    what: 'a recorded payment of a refused request',
    change: ({ payments }) =>
      payments.push(
        payment({
          id: 'pay_9',
          status: 'declined',
          amount_captured: 0,
          metadata: { simulated: '1.other' },
        }),
      ),
    broken: { 'left no trace': 'pay_9 on record for 1.other' },
  },
  {
    what: 'an execution for an unrecorded payment',
    change: ({ executed: log }) =>
      log.push(executed('payment_intent.create', 5, { atomic_payment: 'pay_x', simulated: '9' })),
    broken: { 'left no trace': '9: payment_intent.create pi_1 5' },
  },
  {
    what: 'a reused key that was accepted',
    change: (_, { refused }) => {
      refused[0] = { ...(refused[0] as RefusedRequest), answer: answer() }
    },
    broken: { 'Reused keys': '1.other with key key-1: 201' },
  },
  {
    what: 'a replay with other bytes',
    change: (_, { operations }) => operations[0]?.answers.push(answer({ digest: 'b' })),
    broken: { 'byte for byte': 'key-1: 2 different answers' },
  },
  {
    what: 'a replay of a dropped response',
    change: (_, { operations }) => {
      const first = operations[0] as Operation
      Object.assign(first, { answers: [...first.answers, ...first.answers], droppedAfter: 1 })
    },
    broken: { 'byte for byte': 'key-1: answered 201 after its response was dropped' },
  },
  {
    what: 'an answer about the payment of another key',
    change: (_, { operations }) => {
      const first = operations[0] as Operation
      operations.push({ ...first, key: 'key-7', label: '7', answers: [first.answers[0] as Answer] })
    },
    broken: { 'byte for byte': 'key-7: the answer is about' },
  },
  {
    what: 'an answer with an unrecorded payment',
    change: (_, { operations }) => {
      const first = operations[0] as Operation
      const success = answer({ resource: { id: 'pay_7', status: 'succeeded' } })
      operations.push({ ...first, key: 'key-7', label: '7', answers: [success] })
    },
    broken: { 'Answers to clients': 'pay_7, key key-7: answered succeeded, is not on record' },
  },
  {
    what: 'a balance without a posting',
    change: ({ balancesAfter }) => (balancesAfter[3] = balance('refunds', 401)),
    broken: { 'sum of the ledger': 'refunds usd: 400 posted, 401 shown' },
  },
  {
    what: 'an operation without a final answer',
    change: (_, { operations }) => {
      const pending = answer({ status: 409, problem: 'outcome-unknown' })
      operations.push({ ...(operations[1] as Operation), key: 'key-3', answers: [], pending })
    },
    broken: { 'final answer': 'refund.create, key key-3: 409 outcome-unknown' },
  },
  {
    what: 'a payment in the status unknown',
    change: (records) => addPayment(records, 'unknown'),
    broken: { 'final answer': 'pay_2 is unknown' },
  },
]

describe('the promises', () => {
  test.each(cases)('$what breaks exactly the expected promises', ({ change, broken }) => {
    const [history, records] = [makeHistory(), makeRecords()]

    change(records, history)

    const found = Object.entries(findBroken(history, records))
    const expected = Object.entries(broken)
    expect(found).toHaveLength(expected.length)
    for (const [words, example] of expected) {
      const [, examples] = found.find(([promise]) => promise.includes(words)) ?? [words, []]
      expect(examples.join('\n')).toContain(example)
    }
  })

  test.each(['requires_capture', 'requires_action'])(
    'a payment that was answered as %s may change later',
    (status) => {
      const history = makeHistory()
      history.operations[0]?.answers.splice(0, 1, answer({ resource: { id: 'pay_1', status } }))

      expect(findBroken(history, makeRecords())).toEqual({})
    },
  )

  test('after its response was dropped, a key has another answer', () => {
    const history = makeHistory()
    const first = history.operations[0] as Operation
    const gone = answer({ status: 410, digest: 'gone' })
    Object.assign(first, { answers: [...first.answers, gone, gone], droppedAfter: 1 })

    expect(findBroken(history, makeRecords())).toEqual({})
  })

  test('a payment may not leave a final status', () => {
    const history = makeHistory()
    const canceled = answer({ resource: { id: 'pay_1', status: 'canceled' } })
    history.operations[0]?.answers.splice(0, 1, canceled)

    expect(Object.values(findBroken(history, makeRecords()))).toEqual([
      ['pay_1, key key-1: answered canceled, is succeeded'],
    ])
  })
})
