import { describe, expect, test } from '@jest/globals'
import {
  checkCallsDuringAbsence,
  checkClaims,
  checkLateRecords,
  checkRepeatedRecords,
} from '../../../verify/faults/fencing.ts'
import type { Move } from '../../../verify/faults/moves.ts'
import type { PassedRequest } from '../../../verify/faults/provider-proxy.ts'

function move(status: string, leaseEpoch: number): Move {
  return { operation: 'payment.create', status, recoveryPoint: 'started', leaseEpoch }
}

describe('claims', () => {
  test('that raise the epoch each time are right', () => {
    const moves = [
      move('pending', 0),
      move('processing', 1),
      move('pending', 1),
      move('processing', 2),
    ]

    expect(checkClaims([moves])).toEqual([])
  })

  test('that take over the epoch of the owner before break invariant 6', () => {
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

test('a step that was recorded again breaks invariant 6', () => {
  const repeated = { operation: 'payment.create', reached: 'authorized', times: 2 }

  expect(checkRepeatedRecords([repeated])).toEqual([
    { invariant: 6, what: 'payment.create: authorized was recorded 2 times' },
  ])
})

test('a record of an epoch that was over breaks invariant 6', () => {
  const late = { operation: 'payment.create', reached: 'authorized', recordedBy: 1, heldBy: 2 }

  expect(checkLateRecords([late])).toEqual([
    { invariant: 6, what: 'payment.create: epoch 1 has recorded authorized when 2 held it' },
  ])
})

describe('while the store is out of reach', () => {
  const caller = (passed: PassedRequest[]) => ({
    role: 'worker' as const,
    store: { absences: [{ from: 100, to: 200 }] },
    provider: { passed },
  })

  test.each([
    ['there is no call', []],
    [
      'the call of one phase is made, and made again',
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
  ])('nothing is wrong when %s', (_, passed) => {
    expect(checkCallsDuringAbsence([caller(passed)])).toEqual([])
  })

  test('each of several operations may have had a call begun, and none goes on', () => {
    const passed = [
      { at: 110, name: 'authorize', key: 'atomic_1_started' },
      { at: 120, name: 'authorize', key: 'atomic_2_started' },
      { at: 130, name: 'look' },
    ]
    const further = { at: 150, name: 'capture', key: 'atomic_1_authorized' }

    expect(checkCallsDuringAbsence([caller(passed)], true)).toEqual([])
    expect(checkCallsDuringAbsence([caller([...passed, further])], true)).toEqual([
      { invariant: 8, what: 'the worker went on from authorize to capture without a store' },
    ])
    expect(checkCallsDuringAbsence([caller(passed)])).toHaveLength(1)
  })

  test('going on to the next call breaks invariant 8', () => {
    const passed = [
      { at: 110, name: 'authorize' },
      { at: 150, name: 'capture' },
    ]

    expect(checkCallsDuringAbsence([caller(passed)])).toEqual([
      { invariant: 8, what: 'the worker went on from authorize to capture without a store' },
    ])
  })
})
