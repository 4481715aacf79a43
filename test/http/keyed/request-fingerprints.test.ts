// Fingerprints are equal exactly for requests that ask for the same, now and by later schemas.
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from '@jest/globals'
import * as fc from 'fast-check'
import { z } from 'zod'
import { isSameRequest } from '../../../src/domain/idempotency/idempotency-key.ts'
import {
  currentFingerprint,
  fingerprintsOf,
  type SentRequest,
} from '../../../src/http/keyed/keyed-request.ts'
import { optionalField } from '../../../src/http/requests/validate-body.ts'
import {
  createWebhookEndpointBody,
  updateWebhookEndpointBody,
} from '../../../src/http/resources/webhook-endpoints.ts'
import {
  paymentRequestOf,
  createPaymentBody,
} from '../../../src/operations/create-payment/endpoint.ts'
import { operationEndpoints } from '../../../src/operations/index.ts'
import { paymentBody } from '../../support/client.ts'

type Body = SentRequest['body']

const sent = (body: Body): SentRequest => ({ method: 'POST', path: '/v1/payments', body })

const shown = (schema: z.ZodObject, body: Body) =>
  currentFingerprint(fingerprintsOf(schema, sent(body))).fingerprint.toString('hex')

/** Whether a key that was reserved with one body accepts the other. */
function isAccepted(schema: z.ZodObject, first: Body, retry: Body, laterSchema = schema): boolean {
  const kept = fingerprintsOf(schema, sent(first))
  const key = { fingerprint: kept.fingerprint, validated: currentFingerprint(kept) }
  return isSameRequest(key, fingerprintsOf(laterSchema, sent(retry)))
}

const text = fc.constantFrom('a', 'b')
const bodies = fc.record(
  {
    amount: fc.constantFrom(1999, 2000),
    currency: fc.constantFrom('usd', 'eur'),
    payment_method: fc.constantFrom('pm_1', 'pm_2'),
    capture_method: fc.constantFrom('automatic', 'manual'),
    customer: fc.option(text),
    description: fc.option(text),
    reference: fc.option(text),
    metadata: fc.option(fc.dictionary(text, text, { noNullPrototype: true })),
  },
  { requiredKeys: ['amount', 'currency', 'payment_method'] },
)
/** Random bodies are rarely equal, so half of the pairs differ in one member at most. */
const pairs = fc.oneof(
  fc.tuple(bodies, bodies),
  fc
    .tuple(bodies, bodies, fc.constantFrom(...Object.keys(createPaymentBody.shape)))
    .map(([one, other, name]) => {
      const { [name]: _own, ...others } = one as Record<string, unknown>
      const change = Object.entries(other).filter(([changed]) => changed === name)
      return [one, { ...others, ...Object.fromEntries(change) }] as const
    }),
)

describe('two requests', () => {
  test('have the same fingerprint exactly when the operation gets the same', () => {
    let same = 0
    fc.assert(
      fc.property(pairs, ([one, other]) => {
        const isSame = isDeepStrictEqual(paymentRequestOf(one), paymentRequestOf(other))
        expect(isAccepted(createPaymentBody, one, other)).toBe(isSame)
        same += Number(isSame && !isDeepStrictEqual(one, other))
      }),
      { numRuns: 1_000 },
    )
    // Pairs that say the same in other words do occur.
    expect(same).toBeGreaterThan(20)
  })

  const spelled: [string, z.ZodObject, Body, Body][] = [
    ['a default', createPaymentBody, paymentBody(), paymentBody({ capture_method: 'automatic' })],
    ['null', createPaymentBody, paymentBody({ customer: null }), paymentBody()],
    ['no metadata', createPaymentBody, paymentBody({ metadata: {} }), paymentBody()],
    [
      'every event',
      createWebhookEndpointBody,
      { url: 'https://a.example', event_types: ['*'] },
      { url: 'https://a.example', description: null },
    ],
  ]
  test.each(spelled)('are the same when only one spells out %s', (_, schema, one, other) => {
    expect(isAccepted(schema, one, other)).toBe(true)
    expect(isAccepted(schema, other, one)).toBe(true)
  })

  test('differ by a null that is a value: it deletes the description of a webhook endpoint', () => {
    expect(isAccepted(updateWebhookEndpointBody, { description: null }, {})).toBe(false)
  })
})

describe('after a change of the schema', () => {
  const later = createPaymentBody.extend({
    priority: z.enum(['low', 'high']).default('low'),
    note: optionalField(z.string()),
  })

  test('a new field with a default changes no fingerprint', () => {
    fc.assert(
      fc.property(bodies, (body) => {
        expect(shown(later, body)).toBe(shown(createPaymentBody, body))
        expect(shown(later, { ...body, priority: 'low', note: null })).toBe(shown(later, body))
        expect(shown(later, { ...body, priority: 'high' })).not.toBe(shown(later, body))
      }),
    )
  })

  test('a retry of an earlier request may spell the new default out', () => {
    const retry = paymentBody({ priority: 'low' })

    expect(isAccepted(createPaymentBody, paymentBody(), retry, later)).toBe(true)
  })

  test('the same bytes are the same request, even when their meaning by the schema has changed', () => {
    const changed = createPaymentBody.safeExtend({
      capture_method: z.enum(['automatic', 'manual']).default('manual'),
    })
    for (const body of [paymentBody(), paymentBody({ capture_method: 'automatic' })]) {
      expect(isAccepted(createPaymentBody, body, body, changed)).toBe(true)
    }
  })
})

describe('a key of another version', () => {
  const request = fingerprintsOf(createPaymentBody, sent(paymentBody()))
  const spelledOut = fingerprintsOf(
    createPaymentBody,
    sent(paymentBody({ capture_method: 'automatic' })),
  )
  const { fingerprint, ...current } = currentFingerprint(request)

  test('without a second fingerprint, it accepts only what was sent', () => {
    const key = { fingerprint: request.fingerprint, validated: null }

    expect(isSameRequest(key, request)).toBe(true)
    expect(isSameRequest(key, spelledOut)).toBe(false)
  })

  test('with a version that this process does not know, it accepts only what was sent', () => {
    // By the rule of that version the requests may differ.
    const validated = { fingerprint, version: current.version + 1 }
    const key = { fingerprint: request.fingerprint, validated }

    expect(isSameRequest(key, request)).toBe(true)
    expect(isSameRequest(key, spelledOut)).toBe(false)
  })
})

// These values are in the rows of deployments. If a test below fails, the change needs a new
// version, and the rule of this one has to stay.
describe('the stored values', () => {
  const body = paymentBody({
    capture_method: 'automatic',
    customer: null,
    description: 'Caf\u00E9',
    metadata: { order: '1042', b: '2' },
  })

  test('are the same as those of earlier releases', () => {
    const request = fingerprintsOf(createPaymentBody, sent(body))

    expect(request.fingerprint.toString('hex')).toBe(
      '0527fc804b3d693aadb41e6c334dc667e29408d76a9e3cfbe9d4636c60a2c40e',
    )
    expect(currentFingerprint(request).version).toBe(2)
    expect(request.validatedBy(2)?.toString('hex')).toBe(
      '97543165a127e5e92a9d1dc6de81ac746f3b3af79991a49e75fd45533c1999d4',
    )
    expect(request.validatedBy(1)).toBeUndefined()
  })

  test('leave out the same defaults as in earlier releases', () => {
    const schemas = operationEndpoints.map(({ operation, contract }) => [
      operation.name,
      contract.body.schema,
    ])
    const defaults = [...schemas, ['webhook_endpoint.create', createWebhookEndpointBody]].map(
      ([name, schema]) => [name, defaultsOf(schema as z.ZodObject)],
    )

    expect(Object.fromEntries(defaults)).toMatchObject({
      'payment.create': { capture_method: 'automatic', metadata: {} },
      'refund.create': { metadata: {} },
      'webhook_endpoint.create': { event_types: ['*'] },
    })
  })
})

function defaultsOf({ shape }: z.ZodObject): Body {
  return Object.fromEntries(
    Object.entries(shape).map(([name, field]) => [name, field.safeParse(undefined).data]),
  )
}
