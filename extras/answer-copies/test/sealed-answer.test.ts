import { afterEach, expect, test } from '@jest/globals'
import { nameInRedis, openAnswer, sealAnswer } from '../sealed-answer.ts'
import { completedKey } from '../../../test/support/completed-key.ts'
import { ENCRYPTION_KEYS, encryptionKeyOf, useKeys } from '../../../test/support/encryption.ts'

const EPOCH = 'cluster 1 1767225600.000001 7'
const NOW = Date.now()
const UNTIL = NOW + 1_000

const earlier = {
  paymentId: '0197f0a0-0000-7000-8000-000000000001',
  refundId: null,
  location: null,
  expiredAt: new Date(NOW - 5_000),
}

afterEach(() => useKeys(ENCRYPTION_KEYS))

test.each([
  ['a completed key', completedKey()],
  ['a key with a tombstone', completedKey({ earlier })],
  ['a key in progress', completedKey({ status: 'processing', response: null })],
])('opens %s as it was sealed', (_, key) => {
  expect(openAnswer(EPOCH, key, sealAnswer(EPOCH, key, UNTIL), NOW)).toEqual(key)
})

test('shows nothing of the key and of the answer', () => {
  const key = completedKey({ key: 'order-of-jane-doe' })
  const stored = nameInRedis(EPOCH, key) + sealAnswer(EPOCH, key, UNTIL)

  // Shorter parts are found in a long random text by chance.
  for (const part of [key.key, key.tenantId, key.id, 'location', String(key.paymentId)]) {
    expect(stored).not.toContain(part)
    expect(stored).not.toContain(Buffer.from(part).toString('base64url').slice(2, -2))
  }
})

test('a copy ends by its own time, also when Redis keeps it', () => {
  const key = completedKey()

  expect(openAnswer(EPOCH, key, sealAnswer(EPOCH, key, UNTIL), UNTIL)).toBeUndefined()
})

test.each([
  ['another tenant', completedKey(), EPOCH],
  ['another idempotency key', undefined, EPOCH],
  ['another epoch', completedKey({ tenantId: 't', key: 'k' }), 'next'],
])('refuses a copy of %s', (_, other, epoch) => {
  const key = completedKey({ tenantId: 't', key: 'k' })
  const name = other ?? { ...key, key: 'other' }

  expect(() => openAnswer(epoch, name, sealAnswer(EPOCH, key, UNTIL), NOW)).toThrow()
})

test('refuses what this service has not encrypted', () => {
  const key = completedKey()
  const plain = JSON.stringify({ untilMs: UNTIL, key: { ...key, fingerprint: '' } })
  useKeys(encryptionKeyOf('test', 8))
  const foreign = sealAnswer(EPOCH, key, UNTIL)
  useKeys(ENCRYPTION_KEYS)

  for (const value of [plain, foreign, '', 'enc.v1.', 'enc.v1.test.x.y']) {
    expect(() => openAnswer(EPOCH, key, value, NOW)).toThrow()
  }
})

test('refuses a copy of which one character was changed', () => {
  const key = completedKey()
  const sealed = sealAnswer(EPOCH, key, UNTIL)
  const at = sealed.length - 30
  const changed = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)

  expect(() => openAnswer(EPOCH, key, changed, NOW)).toThrow()
})

// A copy by another version of the service must not be read with members that it does not have.
test('the format has a number for each set of members', () => {
  const members = Object.keys(completedKey()).toSorted().join(' ')

  expect(members).toBe(
    'attempts cancellation createdAt dueInSeconds earlier expiresAt fingerprint id key operation ' +
      'paymentId recoveryPoint refundId response status tenantId validated',
  )
})
