// Tests every row of the table above `classifyStripeError`: what an error proves about its call.
import { describe, expect, test } from '@jest/globals'
import Stripe from 'stripe'
import { NotConnectedError } from '../../../src/provider/deadline.ts'
import { classifyStripeError } from '../../../src/provider/stripe/errors.ts'

const {
  StripeAPIError,
  StripeAuthenticationError,
  StripeCardError,
  StripeConnectionError,
  StripeError,
  StripeIdempotencyError,
  StripeInvalidRequestError,
  StripePermissionError,
  StripeRateLimitError,
} = Stripe.errors

type RawError = ConstructorParameters<typeof StripeError>[0]
type StripeErrorClass = new (raw: never) => unknown

const asked = { call: 'payment_intents.create', provider_key: 'key-1' }

/** An error as the package raises it for an answer with this status and `error` member. */
function answeredError(ErrorClass: StripeErrorClass, statusCode: number, raw: object): unknown {
  const message = 'words of the provider'
  return new ErrorClass({ message, statusCode, requestId: 'req_1', ...raw } as never)
}

/** An error as the package raises it when there was no answer. */
function connectionError(detail: unknown): unknown {
  return new StripeConnectionError({ message: 'no connection', detail } as unknown as RawError)
}

function systemError(code: string, syscall?: string): Error {
  return Object.assign(new Error(code), { code, ...(syscall === undefined ? {} : { syscall }) })
}

/** Node's error when none of several addresses could be reached. */
function bundle(...errors: Error[]): Error {
  const code = (errors[0] as NodeJS.ErrnoException).code
  return Object.assign(new AggregateError(errors), { code })
}

const invalidRequest = { type: 'invalid_request_error' }

/** There is no object with the id in this parameter. */
const missing = (param: string | undefined) => ({
  ...invalidRequest,
  code: 'resource_missing',
  param,
})

describe('an error with an answer', () => {
  test.each([
    [402, 'a card error', StripeCardError, { type: 'card_error', code: 'card_declined' }],
    [400, 'an invalid request', StripeInvalidRequestError, invalidRequest],
    [404, 'an id of the client', StripeInvalidRequestError, missing('customer')],
    [400, 'an id of the client', StripeInvalidRequestError, missing('payment_method')],
  ])('%i, %s: declined', (status, _, ErrorClass, raw) => {
    const error = answeredError(ErrorClass, status, raw)

    expect(classifyStripeError(error, asked).outcome).toBe('declined')
  })

  test.each([
    [404, 'a missing URL', StripeInvalidRequestError, invalidRequest],
    [404, 'an id of Stripe in the URL', StripeInvalidRequestError, missing('intent')],
    [404, 'an id of Stripe', StripeInvalidRequestError, missing('payment_intent')],
    [400, 'an id of Stripe', StripeInvalidRequestError, missing('payment_intent')],
    [404, 'an id in no parameter', StripeInvalidRequestError, missing(undefined)],
    [401, 'a wrong key', StripeAuthenticationError, invalidRequest],
    [403, 'a forbidden call', StripePermissionError, invalidRequest],
    [429, 'too many requests', StripeRateLimitError, { ...invalidRequest, code: 'rate_limit' }],
    [429, 'a lock not had', StripeRateLimitError, { ...invalidRequest, code: 'lock_timeout' }],
    [400, 'too many requests', StripeRateLimitError, { ...invalidRequest, code: 'rate_limit' }],
  ])('%i, %s: not_executed', (status, _, ErrorClass, raw) => {
    const error = answeredError(ErrorClass, status, raw)

    expect(classifyStripeError(error, asked)).toMatchObject({
      outcome: 'not_executed',
      reason: 'words of the provider',
    })
  })

  test.each([
    [400, 'a key used for other parameters', StripeIdempotencyError, { type: 'idempotency_error' }],
    [409, 'a key in flight', StripeAPIError, { ...invalidRequest, code: 'idempotency_key_in_use' }],
    [500, 'a server error', StripeAPIError, { type: 'api_error' }],
    [502, 'a bad gateway', StripeAPIError, { type: 'api_error' }],
    [503, 'an unavailable server', StripeAPIError, { type: 'api_error' }],
    [424, 'a failed dependency', StripeAPIError, { type: 'api_error' }],
    [200, 'an error in a success', StripeAPIError, { type: 'api_error' }],
    [302, 'a redirection', StripeAPIError, { type: 'api_error' }],
  ])('%i, %s: unknown', (status, _, ErrorClass, raw) => {
    const error = answeredError(ErrorClass, status, raw)

    expect(classifyStripeError(error, asked)).toMatchObject({
      outcome: 'unknown',
      reason: 'words of the provider',
    })
  })

  test.each([
    ['without a status, as for a body that is no JSON', new StripeAPIError({})],
    ['of no class of the package', new TypeError('cannot read')],
    ['that is no error', 'text'],
    ['that is undefined', undefined],
  ])('%s: unknown', (_, error) => {
    expect(classifyStripeError(error, asked).outcome).toBe('unknown')
  })

  // A proxy between us and Stripe answers in its own shape, and may have forwarded the request that
  // it refuses.
  test.each([
    [400, StripeInvalidRequestError],
    [401, StripeAuthenticationError],
    [402, StripeCardError],
    [403, StripePermissionError],
    [404, StripeInvalidRequestError],
    [429, StripeRateLimitError],
  ])('%i that is not in the shape of Stripe: unknown', (status, ErrorClass) => {
    const untyped = answeredError(ErrorClass, status, {})
    const foreign = answeredError(StripeError, status, { type: 'Bad Request' })

    expect(classifyStripeError(untyped, asked).outcome).toBe('unknown')
    expect(classifyStripeError(foreign, asked).outcome).toBe('unknown')
  })
})

describe('an error without an answer', () => {
  test('of a connection that was never there: not_executed', () => {
    const error = connectionError(new NotConnectedError(systemError('EWHATEVER', 'connect')))

    expect(classifyStripeError(error, asked)).toMatchObject({
      outcome: 'not_executed',
      answered: { error: 'EWHATEVER' },
    })
  })

  // The network can also report these codes for a connection that already carried the request.
  test.each(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH'])(
    '%s while reading: unknown',
    (code) => {
      const error = connectionError(systemError(code, 'read'))

      expect(classifyStripeError(error, asked).outcome).toBe('unknown')
    },
  )

  test.each([
    ['a reset', systemError('ECONNRESET', 'read')],
    ['a broken pipe', systemError('EPIPE', 'write')],
    ['a lost connection, as our client names it', systemError('CONNECTION_LOST', 'read')],
    ['a timeout', systemError('ETIMEDOUT')],
    ['an unknown code', systemError('EWHATEVER', 'connect')],
    ['an error without a code', new Error('lost')],
    ['no detail', undefined],
    [
      'several addresses, one of which may have been reached',
      bundle(systemError('ECONNREFUSED', 'connect'), systemError('ECONNRESET', 'read')),
    ],
  ])('%s: unknown', (_, detail) => {
    expect(classifyStripeError(connectionError(detail), asked)).toMatchObject({
      outcome: 'unknown',
      reason: 'no connection',
    })
  })
})

describe('a decline', () => {
  test('contains the codes, the message and the intent of the provider', () => {
    const error = answeredError(StripeCardError, 402, {
      type: 'card_error',
      code: 'card_declined',
      decline_code: 'insufficient_funds',
      payment_intent: { id: 'pi_1' },
    })

    expect(classifyStripeError(error, asked)).toEqual({
      outcome: 'declined',
      failure: {
        code: 'card_declined',
        declineCode: 'insufficient_funds',
        message: 'words of the provider',
      },
      providerPaymentId: 'pi_1',
      asked,
      answered: {
        status: 402,
        request_id: 'req_1',
        code: 'card_declined',
        decline_code: 'insufficient_funds',
        message: 'words of the provider',
        payment_id: 'pi_1',
      },
    })
  })

  test('has no decline code and no intent when the provider names none', () => {
    const error = answeredError(StripeCardError, 402, { type: 'card_error', code: 'expired_card' })

    expect(classifyStripeError(error, asked)).toMatchObject({
      failure: { code: 'expired_card', declineCode: null },
      providerPaymentId: null,
    })
  })

  test('of a refused request without a code is not mistaken for a card decline', () => {
    const error = answeredError(StripeInvalidRequestError, 400, invalidRequest)

    expect(classifyStripeError(error, asked)).toMatchObject({
      failure: { code: 'invalid_request_error' },
    })
  })
})

describe('the text of an answer', () => {
  test.each([
    ['NUL', 'a\u0000b'],
    ['a lone surrogate', 'a\ud800b'],
    ['a card number', 'No such card: 4242 4242 4242 4242'],
    ['too much of it', 'x'.repeat(5_000)],
  ])('is made safe to store when it contains %s', (_, message) => {
    const error = answeredError(StripeCardError, 402, {
      type: 'card_error',
      message,
      code: message,
    })

    const outcome = classifyStripeError(error, asked)

    const told = JSON.stringify(outcome)
    expect(outcome.outcome).toBe('declined')
    expect(told.length).toBeLessThan(5_000)
    expect(told).not.toMatch(/\\u0000|\\ud800|4242 4242/)
  })

  test('that is not a string is left out', () => {
    const error = answeredError(StripeCardError, 402, {
      type: 'card_error',
      code: { an: 'object' },
    })

    expect(classifyStripeError(error, asked)).toMatchObject({
      outcome: 'declined',
      failure: { code: 'card_error' },
    })
  })
})
