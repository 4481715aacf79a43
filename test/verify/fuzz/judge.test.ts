// Checks that `judge` reports each kind of wrong answer.
import { expect, test } from '@jest/globals'
import { problemBody } from '../../../src/domain/problems/problem-error.ts'
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import { NoReplyError, type Reply } from '../../../verify/fuzz/connection.ts'
import { payment } from '../../../verify/fuzz/corpus/requests.ts'
import type { Case } from '../../../verify/fuzz/draft.ts'
import { judge, secretsOf } from '../../../verify/fuzz/judge.ts'

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
  ['no answer', new NoReplyError('no answer'), /no answer/],
  ['a 500', reply('internal-error'), /answered 500/],
  ['another problem with the same status', reply('unknown-currency'), /answered unknown-currency/],
  ['another status', reply('invalid-state'), /answered 409 instead of invalid-amount/],
  ['a success', reply('invalid-amount', { status: 201 }), /answered 201/],
  [
    'an HTML page',
    reply('invalid-amount', { headers: new Headers({ 'content-type': 'text/html' }) }),
    /text\/html/,
  ],
  ['a late answer', reply('invalid-amount', { ms: 6_000 }), /after 6000 ms/],
  [
    'an answer with a key',
    reply('invalid-amount', {
      body: JSON.stringify(problemBody('invalid-amount', 'sk_test_secret')),
    }),
    /the answer contains the key/,
  ],
  [
    'an answer with a card number in groups',
    reply('invalid-amount', {
      body: JSON.stringify(problemBody('invalid-amount', '4242-4242 4242\u20104242')),
    }),
    /the answer contains a card number/,
  ],
  [
    'an undocumented member',
    reply('invalid-amount', {
      body: JSON.stringify({ ...problemBody('invalid-amount'), sent: 1 }),
    }),
    /additional properties/,
  ],
]

test('reports nothing for the expected answer', () => {
  expect(judge(one, reply('invalid-amount'), secrets)).toEqual([])
})

test.each(faultyAnswers)('reports %s', (_, result, violation) => {
  expect(judge(one, result, secrets).join('\n')).toMatch(violation)
})

test('without expected problems, allows any documented answer', () => {
  expect(judge({ ...one, types: [] }, reply('unknown-currency'), secrets)).toEqual([])
  expect(judge({ ...one, types: [] }, reply('finding-not-open'), secrets)).not.toEqual([])
})

test('does not report an answer that is expected to be late', () => {
  const late = reply('invalid-amount', { ms: 6_000 })

  expect(judge({ ...one, slow: true }, late, secrets)).toEqual([])
})
