// Tests which requests count as events of each provider, and that only ids are kept of them.
import { describe, expect, test } from '@jest/globals'
import { ProblemError } from '../../../src/domain/problems/problem-error.ts'
import { fixtures } from './fixtures.ts'

const withEvents = fixtures.flatMap(({ events, ...fixture }) =>
  events === undefined ? [] : { ...fixture, events },
)

describe.each(withEvents)('$name', ({ events, knownId, name, paymentOf }) => {
  const payment = paymentOf({ providerPaymentId: knownId })

  const problemOf = async (reading: Promise<unknown>): Promise<ProblemError> => {
    const error: unknown = await reading.then(
      () => undefined,
      (failure: unknown) => failure,
    )
    if (error instanceof ProblemError) return error
    throw new Error('expected a ProblemError', { cause: error })
  }

  test('an event is read, and only its ids are kept', async () => {
    const event = await events.read(events.signed(payment))

    expect(event).toEqual({
      provider: name,
      id: expect.stringMatching(/^\w{3,255}$/),
      type: expect.any(String),
      about: 'payment',
      objectId: knownId,
      providerPaymentId: knownId,
      subject: { tenantId: payment.tenantId, paymentId: payment.id },
      occurredAt: expect.any(Date),
    })
    expect(JSON.stringify(event)).not.toContain(events.card)
  })

  test('an event that is sent again has the same id, and another one has another', async () => {
    const sent = events.signed(payment)

    const first = await events.read(sent)

    expect((await events.read(sent)).id).toBe(first.id)
  })

  test.each(events.forged)('a request with %s is not authentic', async (_title, forge) => {
    const problem = await problemOf(events.read(forge(events.signed(payment))))

    expect(problem.type).toBe('webhook-signature-invalid')
    const text = JSON.stringify([problem, problem.message, String(problem.cause)])
    expect(text).not.toContain(knownId)
    expect(text).not.toContain(events.card)
  })

  test.each(events.malformed)('a signed body that is no event: %s', async (_title, make) => {
    expect((await problemOf(events.read(make()))).type).toBe('webhook-malformed')
  })
})
