import { expect, test } from '@jest/globals'
import { secretsOf } from '../../../verify/fuzz/judge.ts'
import { ServiceLog, type Role } from '../../../verify/fuzz/subject.ts'

function logOf(...lines: [Role, unknown][]): ServiceLog {
  const log = new ServiceLog()
  log.setSecrets(secretsOf(new Map([['the key', 'sk_test_secret']])))
  for (const [role, line] of lines) {
    log.add(role, typeof line === 'string' ? line : JSON.stringify(line))
  }
  return log
}

test.each<[string, Role, unknown, RegExp]>([
  ['a key', 'worker', { level: 30, reason: 'for sk_test_secret' }, /worker logged the key/],
  ['a card number', 'api', { level: 30, reason: '4242 4242-42424242' }, /api logged a card number/],
  ['an error', 'api', { level: 50, msg: 'a request failed' }, /api logged an error/],
  ['a field that is not allowed', 'api', { level: 30, unlisted: ['body'] }, /body/],
  ['a key outside JSON', 'provider', 'oh: sk_test_secret', /provider logged the key/],
])('reports %s in a log line', (_, role, line, violation) => {
  expect(logOf([role, line]).violations.join('\n')).toMatch(violation)
})

test('counts provider calls, but no calls of its control API', () => {
  const log = logOf(
    ['provider', { level: 30, msg: 'request', method: 'POST', path: '/v1/payment_intents' }],
    ['provider', { level: 30, msg: 'request', method: 'GET', path: '/_control/executed' }],
    ['api', { level: 30, msg: 'request', path: '/v1/payments' }],
  )

  expect(log.providerCalls).toBe(1)
  expect(log.violations).toEqual([])
})
