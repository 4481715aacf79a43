// What is to find faults has to be able to: each fault of an answer is one that is complained of.
import { expect, test } from '@jest/globals'
import { problemBody } from '../../../src/domain/problems/problem-error.ts'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { NoReplyError, type Reply } from '../../../verify/fuzz/connection.ts'
import { payment } from '../../../verify/fuzz/corpus/requests.ts'
import type { Case } from '../../../verify/fuzz/draft.ts'
import { judge } from '../../../verify/fuzz/judge.ts'
import { secretsOf } from '../../../verify/fuzz/secrets.ts'

const secrets = secretsOf(new Map([['the key', 'sk_test_secret']]))
const one: Case = { label: 'one', draft: payment(), types: ['invalid-amount'] }

function reply(type: ProblemType, own: Partial<Reply> = {}): Reply {
  const body = problemBody(type)
  return {
    status: Number(body['status']),
    headers: new Headers({
      'request-id': 'req_1',
      'content-type': 'application/problem+json; charset=utf-8',
      link: 'x',
    }),
    body: JSON.stringify(body),
    ms: 1,
    ...own,
  }
}

const faultyAnswers: [what: string, result: Reply | NoReplyError, violation: RegExp][] = [
  ['no answer', new NoReplyError('no answer came'), /no answer came/],
  ['a fault of the service', reply('internal-error'), /answered 500/],
  ['another problem of the same status', reply('unknown-currency'), /told unknown-currency/],
  ['another status', reply('invalid-state'), /answered 409 instead of invalid-amount/],
  ['an acceptance', reply('invalid-amount', { status: 201 }), /answered 201/],
  [
    'a page',
    reply('invalid-amount', { headers: new Headers({ 'content-type': 'text/html' }) }),
    /text\/html/,
  ],
  ['a late answer', reply('invalid-amount', { ms: 6_000 }), /after 6000 ms/],
  [
    'a key that comes back',
    reply('invalid-amount', {
      body: JSON.stringify(problemBody('invalid-amount', 'sk_test_secret')),
    }),
    /the answer holds the key/,
  ],
  [
    'a card number that comes back in pieces',
    reply('invalid-amount', {
      body: JSON.stringify(problemBody('invalid-amount', '4242-4242 4242\u20104242')),
    }),
    /the answer holds a card number/,
  ],
  [
    'a member that is not documented',
    reply('invalid-amount', {
      body: JSON.stringify({ ...problemBody('invalid-amount'), sent: 1 }),
    }),
    /additional properties/,
  ],
]

test('an answer as it has to be is left alone', () => {
  expect(judge(one, reply('invalid-amount'), secrets)).toEqual([])
})

test.each(faultyAnswers)('%s is complained of', (_, result, violation) => {
  expect(judge(one, result, secrets).join('\n')).toMatch(violation)
})

test('where nothing is known beforehand, whatever is documented will do', () => {
  expect(judge({ ...one, types: [] }, reply('unknown-currency'), secrets)).toEqual([])
  expect(judge({ ...one, types: [] }, reply('finding-not-open'), secrets)).not.toEqual([])
})

test('an answer that is late for a reason is not late', () => {
  const late = reply('invalid-amount', { ms: 6_000 })

  expect(judge({ ...one, slow: true }, late, secrets)).toEqual([])
})
