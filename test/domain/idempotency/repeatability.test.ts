// Tests how the headers of OASIS Repeatable Requests 1.0 are read.
import { describe, expect, test } from '@jest/globals'
import { readRequestName, type KeyHeaders } from '../../../src/domain/idempotency/repeatability.ts'
import { problemOf } from '../../support/problem-of.ts'

const UUID = '8e03978e-40d5-43e8-bc93-6894a57f9324'
const TIME = 'Fri, 27 Nov 2026 08:49:37 GMT'
const none: KeyHeaders = { idempotencyKey: [], requestId: [], firstSent: [], clientId: [] }

describe('readRequestName', () => {
  test.each<[string, Partial<KeyHeaders>, string | undefined]>([
    ['an Idempotency-Key alone', { idempotencyKey: [UUID] }, undefined],
    ['an Idempotency-Key with a time', { idempotencyKey: [UUID], firstSent: [TIME] }, TIME],
    ['a Repeatability-Request-ID with a time', { requestId: [UUID], firstSent: [TIME] }, TIME],
    [
      'both with the same key',
      { idempotencyKey: [`"${UUID}"`], requestId: [UUID], firstSent: [TIME] },
      TIME,
    ],
  ])('reads the key from %s', (_, headers, time) => {
    const { key, firstSent } = readRequestName({ ...none, ...headers })

    expect([key, firstSent?.toUTCString()]).toEqual([UUID, time])
  })

  test('refuses a request without a key, even with a time', () => {
    const read = () => readRequestName({ ...none, firstSent: [TIME] })

    expect(problemOf(read).type).toBe('idempotency-key-missing')
  })

  test.each([
    ['empty', ['']],
    ['with a space', ['a b']],
    ['in quotes', [`"${UUID}"`]],
    ['of 256 characters', ['k'.repeat(256)]],
    ['not ASCII', ['clé']],
    ['two in one line', ['one, two']],
    ['twice', [UUID, UUID]],
  ])('refuses a Repeatability-Request-ID: %s', (_, requestId) => {
    const read = () => readRequestName({ ...none, requestId, firstSent: [TIME] })

    expect(problemOf(read).type).toBe('repeatability-request-id-malformed')
  })

  test.each([
    ['empty', ''],
    ['ISO 8601', '2026-11-27T08:49:37Z'],
    ['Unix seconds', '1795769377'],
    ['the wrong weekday', 'Mon, 27 Nov 2026 08:49:37 GMT'],
    ['a day that does not exist', 'Mon, 30 Feb 2026 08:49:37 GMT'],
    ['another time zone', 'Fri, 27 Nov 2026 08:49:37 +0000'],
    ['the form of RFC 850', 'Friday, 27-Nov-26 08:49:37 GMT'],
    ['the form of asctime', 'Fri Nov 27 08:49:37 2026'],
    ['a day of one digit', 'Thu, 1 Jan 2026 08:49:37 GMT'],
    ['before 1970', 'Wed, 31 Dec 1969 23:59:59 GMT'],
    ['text behind it', `${TIME} `],
  ])('refuses a Repeatability-First-Sent: %s', (_, time) => {
    const read = () => readRequestName({ ...none, idempotencyKey: [UUID], firstSent: [time] })

    expect(problemOf(read).type).toBe('repeatability-first-sent-malformed')
  })

  test.each<[string, Partial<KeyHeaders>, string]>([
    ['two times', { requestId: [UUID], firstSent: [TIME, TIME] }, 'first-sent-malformed'],
    ['no time', { requestId: [UUID] }, 'first-sent-missing'],
    [
      'another Idempotency-Key',
      { idempotencyKey: ['other'], requestId: [UUID], firstSent: [TIME] },
      'keys-differ',
    ],
    [
      'a Repeatability-Client-ID',
      { requestId: [UUID], firstSent: [TIME], clientId: ['c'] },
      'client-id-unsupported',
    ],
  ])('refuses a Repeatability-Request-ID with %s', (_, headers, problem) => {
    const read = () => readRequestName({ ...none, ...headers })

    expect(problemOf(read).type).toBe(`repeatability-${problem}`)
  })
})
