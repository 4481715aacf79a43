import { expect, test } from '@jest/globals'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import { mayRetry, problems, type ProblemType } from '../../../src/domain/problems/problems.ts'
import { problemAnswer } from '../../../src/http/responses/answer.ts'

const types = Object.keys(problems) as ProblemType[]

test.each(types.filter(mayRetry))('%s is answered with Retry-After', (type) => {
  expect(problemAnswer(new ProblemError(type), 'ietf').headers).toMatchObject({
    'retry-after': '1',
  })
})

test.each(types.filter((type) => !mayRetry(type)))('%s is answered without it', (type) => {
  expect(problemAnswer(new ProblemError(type), 'ietf').headers).not.toHaveProperty('retry-after')
})

test('a problem can name its own delay', () => {
  const error = new ProblemError('rate-limited', { headers: { 'retry-after': '42' } })
  expect(problemAnswer(error, 'ietf').headers).toMatchObject({ 'retry-after': '42' })
})
