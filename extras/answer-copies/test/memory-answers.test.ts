import { expect, test } from '@jest/globals'
import { createMemoryAnswers } from '../memory-answers.ts'
import { completedKey } from '../../../test/support/completed-key.ts'

const bounds = { answers: 3, bytes: 1_000_000, seconds: 60 }
const EPOCH = 'epoch'

test('finds a completed key, with its answer', () => {
  const answers = createMemoryAnswers(bounds)
  const key = completedKey()

  answers.keep(EPOCH, key)

  expect(answers.find(EPOCH, key)).toEqual(key)
})

test('does not find the key of another tenant', () => {
  const answers = createMemoryAnswers(bounds)
  const key = completedKey()

  answers.keep(EPOCH, key)

  expect(answers.find(EPOCH, completedKey({ key: key.key }))).toBeUndefined()
})

test('does not keep a key without an answer', () => {
  const answers = createMemoryAnswers(bounds)
  const key = completedKey({ status: 'processing', response: null })

  answers.keep(EPOCH, key)

  expect(answers.find(EPOCH, key)).toBeUndefined()
})

test('forgets everything when the epoch changes, also for the epoch before', () => {
  const answers = createMemoryAnswers(bounds)
  const key = completedKey()

  answers.keep(EPOCH, key)

  expect(answers.find('next', key)).toBeUndefined()
  expect(answers.find(EPOCH, key)).toBeUndefined()
})

test('decrypts a stored body once', () => {
  let decrypted = 0
  const response = {
    status: 201,
    headers: {},
    get body() {
      decrypted += 1
      return '{}'
    },
  }
  const answers = createMemoryAnswers(bounds)
  const key = completedKey({ response })

  answers.keep(EPOCH, key)
  const bodies = [1, 2, 3].map(() => answers.find(EPOCH, key)?.response?.body)

  expect(bodies).toEqual(['{}', '{}', '{}'])
  expect(decrypted).toBe(1)
})

test('ends with the age of the copy, and with the key itself', () => {
  let now = Date.now()
  const answers = createMemoryAnswers(bounds, () => now)
  const key = completedKey()
  const expiring = completedKey({ expiresAt: new Date(now + 10_000) })
  answers.keep(EPOCH, key)
  answers.keep(EPOCH, expiring)

  now += 9_999
  expect(answers.find(EPOCH, expiring)).toBeDefined()
  now += 1
  expect(answers.find(EPOCH, expiring)).toBeUndefined()
  now += 49_999
  expect(answers.find(EPOCH, key)).toBeDefined()
  now += 1
  expect(answers.find(EPOCH, key)).toBeUndefined()
})

test('removes the answers that were not used for the longest time when there are too many', () => {
  const answers = createMemoryAnswers(bounds)
  const keys = Array.from({ length: 4 }, () => completedKey())
  const [first = completedKey(), second, third, fourth = completedKey()] = keys
  for (const key of [first, second, third]) if (key !== undefined) answers.keep(EPOCH, key)
  answers.find(EPOCH, first)

  answers.keep(EPOCH, fourth)

  const found = keys.map((key) => answers.find(EPOCH, key) !== undefined)
  expect(found).toEqual([true, false, true, true])
})

test('removes answers when they are too large together, also when one is replaced', () => {
  const answers = createMemoryAnswers({ ...bounds, bytes: 10_000 })
  const body = 'x'.repeat(3_000)
  const large = () => completedKey({ response: { status: 200, headers: {}, body } })
  const [one, other] = [large(), large()]

  answers.keep(EPOCH, one)
  answers.keep(EPOCH, one)
  expect(answers.find(EPOCH, one)).toBeDefined()
  answers.keep(EPOCH, other)

  expect(answers.find(EPOCH, one)).toBeUndefined()
  expect(answers.find(EPOCH, other)).toBeDefined()
})

test('does not keep an answer that is too large alone', () => {
  const answers = createMemoryAnswers({ ...bounds, bytes: 5_000 })
  const key = completedKey({ response: { status: 200, headers: {}, body: 'x'.repeat(3_000) } })

  answers.keep(EPOCH, key)

  expect(answers.find(EPOCH, key)).toBeUndefined()
})
