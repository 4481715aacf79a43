import { describe, expect, test } from '@jest/globals'
import {
  checkCallsDuringAbsence,
  checkClaims,
  checkLateRecords,
  checkRepeatedRecords,
} from '../../../verify/faults/checks.ts'
import type { Move } from '../../../verify/faults/lane-parts.ts'
import type { ForwardedRequest } from '../../../verify/faults/provider-proxy.ts'

function move(status: string, leaseEpoch: number): Move {
  return { operation: 'payment.create', status, recoveryPoint: 'started', leaseEpoch }
}

describe('claims', () => {
  test('that raise the epoch each time break nothing', () => {
    const moves = [
      move('pending', 0),
      move('processing', 1),
      move('pending', 1),
      move('processing', 2),
    ]

    expect(checkClaims([moves])).toEqual([])
  })

  test('that reuse the epoch of the previous owner break invariant 6', () => {
    const moves = [
      move('pending', 0),
      move('processing', 1),
      move('pending', 1),
      move('processing', 1),
    ]

    expect(checkClaims([moves])).toEqual([
      { invariant: 6, what: 'payment.create: claimed again in epoch 1' },
    ])
  })
})

test('a step that was recorded twice breaks invariant 6', () => {
  const repeated = { operation: 'payment.create', reached: 'authorized', times: 2 }

  expect(checkRepeatedRecords([repeated])).toEqual([
    { invariant: 6, what: 'payment.create: authorized was recorded 2 times' },
  ])
})

test('a record of an earlier epoch breaks invariant 6', () => {
  const late = { operation: 'payment.create', reached: 'authorized', recordedBy: 1, ownedBy: 2 }

  expect(checkLateRecords([late])).toEqual([
    { invariant: 6, what: 'payment.create: epoch 1 recorded authorized while epoch 2 owned it' },
  ])
})

describe('while the store is unreachable', () => {
  const caller = (requests: ForwardedRequest[]) => ({
    role: 'worker' as const,
    store: { absences: [{ from: 100, to: 200 }] },
    provider: { requests },
  })

  test.each([
    ['there is no call', []],
    [
      'the call of one phase is made and repeated',
      [
        { at: 110, name: 'authorize' },
        { at: 150, name: 'authorize' },
      ],
    ],
    [
      'the next phase waits for the store',
      [
        { at: 110, name: 'authorize' },
        { at: 201, name: 'capture' },
      ],
    ],
  ])('nothing breaks when %s', (_, requests) => {
    expect(checkCallsDuringAbsence([caller(requests)], false)).toEqual([])
  })

  test('each of several operations may have begun a call, and none may begin another one', () => {
    const requests = [
      { at: 110, name: 'authorize', key: 'atomic_1_started' },
      { at: 120, name: 'authorize', key: 'atomic_2_started' },
      { at: 130, name: 'look' },
    ]
    const further = { at: 150, name: 'capture', key: 'atomic_1_authorized' }

    expect(checkCallsDuringAbsence([caller(requests)], true)).toEqual([])
    expect(checkCallsDuringAbsence([caller([...requests, further])], true)).toEqual([
      { invariant: 8, what: 'the worker went on from authorize to capture without a store' },
    ])
    expect(checkCallsDuringAbsence([caller(requests)], false)).toHaveLength(1)
  })

  test('another call breaks invariant 8', () => {
    const requests = [
      { at: 110, name: 'authorize' },
      { at: 150, name: 'capture' },
    ]

    expect(checkCallsDuringAbsence([caller(requests)], false)).toEqual([
      { invariant: 8, what: 'the worker went on from authorize to capture without a store' },
    ])
  })
})
