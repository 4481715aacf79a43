import { expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import { mayRetry, problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import { problemAnswer, retryAfter } from '../../../src/http/responses/answer.ts'

const types = Object.keys(problems) as ProblemType[]

test.each(types.filter(mayRetry))('%s is answered with Retry-After', (type) => {
  expect(problemAnswer(new ProblemError(type), 'ietf').headers).toMatchObject({
    'retry-after': expect.stringMatching(/^[12]$/),
  })
})

test.each(types.filter((type) => !mayRetry(type)))('%s is answered without it', (type) => {
  expect(problemAnswer(new ProblemError(type), 'ietf').headers).not.toHaveProperty('retry-after')
})

test('a problem can name its own delay', () => {
  const error = new ProblemError('rate-limited', { headers: { 'retry-after': '42' } })
  expect(problemAnswer(error, 'ietf').headers).toMatchObject({ 'retry-after': '42' })
})

test.each([
  [-3, 0, '1'],
  [0, 0.999, '2'],
  [0.2, 0, '1'],
  [1, 0.4, '1'],
  [1, 0.6, '2'],
  [12.1, 0, '13'],
  [12.1, 0.999, '14'],
  [300, 0.999, '330'],
  [3_600, 0, '3600'],
  [3_600, 0.5, '3630'],
  [3_600, 0.999, '3660'],
  [86_400, 0.999, '86460'],
])('a delay of %d s with the chance %d is sent as %s', (seconds, chance, header) => {
  expect(retryAfter(seconds, () => chance)).toEqual({ 'retry-after': header })
})

test('a delay is never shorter than the time, nor longer by more than the jitter', () => {
  fc.assert(
    fc.property(
      fc.double({ min: -10, max: 100_000, noNaN: true }),
      fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }),
      (seconds, chance) => {
        const header = Number(retryAfter(seconds, () => chance)['retry-after'])
        const least = Math.max(1, Math.ceil(seconds))
        expect(Number.isInteger(header)).toBe(true)
        expect(header).toBeGreaterThanOrEqual(least)
        expect(header - least).toBeLessThanOrEqual(Math.min(60, Math.max(1, least / 10)))
      },
    ),
  )
})
