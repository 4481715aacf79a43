import { expect, test } from '@jest/globals'
import { showId } from '../../../src/domain/resource-id.ts'
import { idsIn } from '../../../verify/faults/merchant.ts'

const UUID = '01a1ff40-9ba3-7036-8221-4173be8dafba'

test.each([
  ['an id of the service, as its UUID', `{"id":"${showId('pay', UUID)}"}`, [UUID]],
  ['a UUID, as the database has it', `Of ${UUID}.`, [UUID]],
  ['an id of the provider', 'pi_3QabcDEF0123456789 was captured', ['pi_3QabcDEF0123456789']],
  ['no name of a payment method or a status', 'pm_card_mastercard requires_action', []],
])('finds %s', (_, text, ids) => {
  expect(idsIn(text)).toEqual(ids)
})
