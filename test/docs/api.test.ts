// Compares the hand-written parts of docs/api.md with the code.
import { describe, expect, test } from '@jest/globals'
import { readConfig } from '../../src/config.ts'
import { paymentStatuses } from '../../src/domain/payments/payment.ts'
import { renderProblem } from '../../src/domain/problems/flavor.ts'
import { ProblemError } from '../../src/domain/problems/problem-error.ts'
import { problems, type ProblemType } from '../../src/domain/problems/problems.ts'
import { grantableScopes, ROTATION_GRACE_SECONDS } from '../../src/domain/tenants/api-key.ts'
import { RETRY_DELAYS_SECONDS } from '../../src/domain/webhooks/webhook-delivery.ts'
import { ENDPOINTS_MAX, PREVIOUS_SECRET_HOURS } from '../../src/domain/webhooks/webhook-endpoint.ts'
import { validateBody } from '../../src/http/requests/validate-body.ts'
import { BODY_MAX_BYTES, NESTING_MAX } from '../../src/http/requests/read-body.ts'
import { createPaymentBody } from '../../src/operations/create-payment/endpoint.ts'
import { readPage } from '../support/named-tests.ts'

const page = readPage('docs/api.md')

/** The first column of the table below a heading. */
function firstColumn(heading: string): string[] {
  const [table = ''] = /^\|[^]*?\n\n/m.exec(page.split(`# ${heading}\n`)[1] ?? '') ?? []
  return [...table.matchAll(/^\| `([^`]+)` \|/gm)].map(([, first = '']) => first)
}

test('describes every scope', () => {
  expect(firstColumn('Authentication').toSorted()).toEqual(grantableScopes.toSorted())
})

test('describes every status of a payment', () => {
  expect(firstColumn('Payments').toSorted()).toEqual(paymentStatuses.toSorted())
})

test('names problems with their statuses', () => {
  const named = [...page.matchAll(/`(\d{3}) ([a-z][a-z-]+)`/g)]

  expect(named.length).toBeGreaterThan(15)
  for (const [, status, type = ''] of named) {
    expect([type, problems[type as ProblemType]?.status]).toEqual([type, Number(status)])
  }
})

test('shows an error as the service answers it', () => {
  const [, example = ''] = /```json\n(\{\n {2}"type"[^]*?)```/.exec(page) ?? []
  const body = { amount: 0, currency: 'usd', payment_method: 'pm_card_visa' }

  let refusal: unknown
  try {
    validateBody(createPaymentBody, body)
  } catch (error) {
    refusal = error
  }
  expect(refusal).toBeInstanceOf(ProblemError)
  const { type, detail, errors } = refusal as ProblemError
  const answer = renderProblem('ietf', type, detail, { errors })
  expect(JSON.parse(example)).toEqual(JSON.parse(answer.body))
})

describe('states the defaults:', () => {
  const defaults = readConfig({})
  const hours = (seconds: number) => seconds / 3_600
  const number = (value: number) => value.toLocaleString('en-US')
  const [fifth, fifthMinute, half, ...later] = RETRY_DELAYS_SECONDS

  test.each([
    [`By default that is ${hours(defaults.KEY_RETENTION_SECONDS)} hours`],
    [`waits up to ${defaults.WAIT_SECONDS} seconds for the result`],
    [`| waits ${defaults.WAIT_SECONDS} seconds, then \`202\` |`],
    [`waits up to N seconds, ${defaults.WAIT_MAX_SECONDS} at most`],
    [`| body | ${number(BODY_MAX_BYTES)} bytes, ${NESTING_MAX} levels`],
    [`(\`POST\`, \`DELETE\`) | ${number(defaults.RATE_LIMIT_WRITES)} a minute`],
    [`(\`GET\`) | ${number(defaults.RATE_LIMIT_READS)} a minute`],
    [`not completed | ${number(defaults.MAX_ACTIVE_KEYS)} |`],
    [`idempotency keys of a tenant | ${number(defaults.MAX_STORED_KEYS)} |`],
    [`one process works on | ${number(defaults.MAX_CONCURRENT_REQUESTS)} |`],
    [`A rotated key works for ${hours(ROTATION_GRACE_SECONDS)} more hours`],
    [`A tenant can have ${ENDPOINTS_MAX} endpoints`],
    [`For ${PREVIOUS_SECRET_HOURS} hours both`],
    [`within ${defaults.WEBHOOK_TIMEOUT_MS / 1_000} seconds is a success`],
    [
      `after ${fifth} s, ${fifthMinute / 60} min, ${half / 60} min, and ` +
        `${later.slice(0, -1).map(hours).join(', ')} and ${later.slice(-1).map(hours).join()} hours`,
    ],
  ])('%s', (words) => {
    expect(page.replaceAll(/\s+/g, ' ')).toContain(words)
  })

  test('a minute is the window of the rate limit', () => {
    expect(defaults.RATE_LIMIT_WINDOW_SECONDS).toBe(60)
  })
})
