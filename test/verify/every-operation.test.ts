// Checks that each proof covers every operation, or that the reason for an exception is listed
// here.
import { expect, test } from '@jest/globals'
import { operationEndpoints, operations } from '../../src/operations/index.ts'
import { fixtures } from '../operations/fixture.ts'
import { scenarios } from '../../verify/faults/scenarios.ts'
import { operations as fuzzed } from '../../verify/fuzz/operations.ts'

const names = operations.map(({ name }) => name)

test('the fault suite has a scenario for each operation', () => {
  expect(scenarios.map(({ name }) => name)).toEqual(expect.arrayContaining(names))
})

test('the fuzzer knows each operation that a client begins, from openapi.yaml', () => {
  const wanted = operationEndpoints.map(({ contract }) => contract.operationId)

  expect(fuzzed.map(({ id }) => id)).toEqual(expect.arrayContaining(wanted))
})

/** Operations without a fixture, which no client begins, and why the model and the simulation leave them out. */
const NOT_MODELLED: Readonly<Record<string, string>> = {
  'payment.follow': 'events are not modelled',
  'refund.follow': 'events are not modelled',
  'dispute.follow': 'events are not modelled',
  'hold.release': 'events are not modelled',
}

const exceptions = (why: 'notModelled' | 'notSimulated') =>
  fixtures.flatMap(({ operation, ...fixture }) => (fixture[why] === undefined ? [] : operation))

test('the model has each operation, or its fixture says why not', () => {
  const modelled = ['payment.create', 'refund.create']

  const known = [...modelled, ...Object.keys(NOT_MODELLED), ...exceptions('notModelled')]
  expect(known.toSorted()).toEqual(names.toSorted())
})

test('the simulation sends each operation, or its fixture says why not', () => {
  const simulated = ['payment.create', 'payment.capture', 'payment.cancel', 'refund.create']

  const known = [...simulated, ...Object.keys(NOT_MODELLED), ...exceptions('notSimulated')]
  expect(known.toSorted()).toEqual(names.toSorted())
})
