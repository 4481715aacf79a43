import { describe, expect, test } from '@jest/globals'
import { LABEL_FIELD } from '../../../verify/simulate/history.ts'
import { checkDeclines, checkMoves, checkRefundedOnce } from '../../../verify/faults/checks.ts'
import type { Move } from '../../../verify/faults/lane-parts.ts'
import { checkSecrecy } from '../../../verify/faults/secrecy.ts'

function move(recoveryPoint: string, leaseEpoch: number): Move {
  return { operation: 'payment.create', status: 'processing', recoveryPoint, leaseEpoch }
}

test('moves that go forward, or stay, break nothing', () => {
  const moves = [move('started', 0), move('started', 1), move('authorized', 1), move('finished', 2)]

  expect(checkMoves([moves])).toEqual([])
})

test.each<[string, Move, Move]>([
  ['a recovery point that goes back', move('captured', 1), move('authorized', 1)],
  ['a recovery point that excludes the one before', move('captured', 1), move('declined', 1)],
  ['a lease epoch that goes back', move('started', 2), move('authorized', 1)],
  ['a move after the last one', move('finished', 1), move('finished', 1)],
  ['an unknown recovery point', move('started', 1), move('elsewhere', 1)],
])('%s breaks invariant 6', (_, before, after) => {
  expect(checkMoves([[move('started', 0), before, after]])).toMatchObject([{ invariant: 6 }])
})

describe('a payment with a card that the provider approves', () => {
  const check = (paymentMethod: string, status: number) => {
    const content = { kind: 'payment.create', body: { payment_method: paymentMethod } }
    const operations = [{ content, key: 'order-1', answers: [{ status }] }]
    return checkDeclines({ operations } as unknown as Parameters<typeof checkDeclines>[0])
  }

  test('may succeed, and a declining card may be declined', () => {
    expect([...check('pm_card_visa', 201), ...check('pm_card_chargeDeclined', 402)]).toEqual([])
  })

  test('breaks invariant 5 when it is declined', () => {
    expect(check('pm_card_visa', 402)).toMatchObject([{ invariant: 5 }])
  })
})

describe('the refunds of a key', () => {
  const content = { kind: 'refund.create', paymentId: 'pay_1', body: { amount: 100 } } as const
  const wanted = {
    run: 'r',
    startedAt: new Date(0),
    refused: [],
    operations: [{ content, key: 'order-2', label: '2', answers: [] }],
  }
  const refunded = (refund: string) => ({
    kind: 'refund.create',
    id: `re_of_${refund}`,
    amount: 100,
    currency: 'usd',
    metadata: { atomic_refund: refund, [LABEL_FIELD]: '2' },
  })
  const check = (refunds: unknown[], executed: unknown[]) =>
    checkRefundedOnce(
      wanted as unknown as Parameters<typeof checkRefundedOnce>[0],
      { refunds, executed } as unknown as Parameters<typeof checkRefundedOnce>[1],
    )

  test('break nothing when there is one, on record and at the provider', () => {
    expect(check([{ id: 're_1' }], [refunded('re_1')])).toEqual([])
  })

  test('break invariant 1 when there are two, on record and at the provider', () => {
    expect(check([{ id: 're_1' }, { id: 're_2' }], [refunded('re_1'), refunded('re_2')])).toEqual([
      { invariant: 1, what: '2 refunds for 1 keys' },
      { invariant: 1, what: '2 refunds were executed for 2' },
    ])
  })
})

const CARD_NUMBER = '4242 4242 4242 4242'

test.each([
  ['a part of a secret', 'key sk_test_0123456789 was refused', 1],
  ['what looks like a card number', `card ${CARD_NUMBER} was refused`, 1],
  ['digits without a valid check digit', 'took 4242424242424241 ns', 0],
  ['a time and an id', 'at 1795283786690, 01a1ff40-9ba3-7036-8221-4173be8dafba', 0],
])('searches a log: %s', (_, line, found) => {
  const secrecy = { secrets: ['sk_test_0123456789abcdef'], texts: { 'a log': ['fine', line] } }

  expect(checkSecrecy(secrecy)).toHaveLength(found)
})
