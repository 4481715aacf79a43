// Checks that each proof covers every operation, or that the reason for an exception is listed
// here.
import { expect, test } from '@jest/globals'
import { operationEndpoints, operations } from '../../src/operations/index.ts'
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

/** Why the model leaves an operation out. A new operation must be modelled or listed here. */
const NOT_MODELLED: Readonly<Record<string, string>> = {
  'payment.capture':
    'one provider call on an existing payment, as refund.create, which is modelled',
  'payment.cancel': 'one provider call on an existing payment, as refund.create, which is modelled',
  'payment.adjust': 'one provider call on an existing payment, as refund.create, which is modelled',
  'payment.follow': 'events are not modelled',
  'refund.follow': 'events are not modelled',
  'dispute.follow': 'events are not modelled',
  'hold.release': 'events are not modelled',
}

test('the model has each operation, or says why not', () => {
  const modelled = ['payment.create', 'refund.create']

  expect([...modelled, ...Object.keys(NOT_MODELLED)].toSorted()).toEqual(names.toSorted())
})

/** Why the simulated traffic leaves an operation out. */
const NOT_SIMULATED: Readonly<Record<string, string>> = {
  'payment.adjust': 'shops of the simulation know their amounts when they pay',
  'payment.follow': 'no client begins it',
  'refund.follow': 'no client begins it',
  'dispute.follow': 'no client begins it',
  'hold.release': 'no client begins it',
}

test('the simulation sends each operation, or says why not', () => {
  const simulated = ['payment.create', 'payment.capture', 'payment.cancel', 'refund.create']

  expect([...simulated, ...Object.keys(NOT_SIMULATED)].toSorted()).toEqual(names.toSorted())
})
