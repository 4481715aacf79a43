// Tests the life cycle of a PaymentIntent, with the official client.
import { describe, expect, test } from '@jest/globals'
import { payment } from '../running-provider.ts'
import { ownProvider } from '../../../support/own-provider.ts'

const provider = ownProvider()

describe('create', () => {
  test('charges a good card when confirmed', async () => {
    const { id: customer } = await provider.stripe.customers.create()
    const intent = await provider.stripe.paymentIntents.create(
      payment({ metadata: { payment: 'pay_1' }, customer, description: 'Tea' }),
      { idempotencyKey: 'key-1' },
    )

    expect(intent).toMatchObject({
      object: 'payment_intent',
      id: expect.stringMatching(/^pi_/),
      amount: 1000,
      amount_capturable: 0,
      amount_received: 1000,
      currency: 'eur',
      status: 'succeeded',
      capture_method: 'automatic_async',
      confirmation_method: 'automatic',
      client_secret: expect.stringContaining(`${intent.id}_secret_`),
      latest_charge: expect.stringMatching(/^ch_/),
      payment_method: expect.stringMatching(/^pm_[A-Za-z]{24}$/),
      allowed_payment_method_types: ['card'],
      payment_method_types: ['card'],
      customer,
      description: 'Tea',
      metadata: { payment: 'pay_1' },
      livemode: false,
      last_payment_error: null,
      next_action: null,
      canceled_at: null,
      cancellation_reason: null,
    })
    expect(await provider.executed()).toEqual([
      {
        seq: 1,
        at: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
        kind: 'payment_intent.create',
        id: intent.id,
        amount: 1000,
        currency: 'eur',
        value: '10.00',
        idempotency_key: 'key-1',
        metadata: { payment: 'pay_1' },
      },
    ])
  })

  test('only authorises with manual capture', async () => {
    const intent = await provider.stripe.paymentIntents.create(
      payment({ capture_method: 'manual' }),
    )

    expect(intent).toMatchObject({
      status: 'requires_capture',
      amount_capturable: 1000,
      amount_received: 0,
    })
    expect(await provider.executed()).toMatchObject([{ kind: 'payment_intent.create' }])
  })
})

describe('confirm', () => {
  test("charges the intent's method", async () => {
    const intent = await provider.stripe.paymentIntents.create(payment({ confirm: false }))

    const confirmed = await provider.stripe.paymentIntents.confirm(intent.id, {
      return_url: 'https://example.com/',
    })

    expect(confirmed).toMatchObject({ id: intent.id, status: 'succeeded', amount_received: 1000 })
    expect(await provider.executed()).toMatchObject([{ kind: 'payment_intent.confirm' }])
  })

  test('refuses a succeeded intent and does not charge again', async () => {
    const intent = await provider.stripe.paymentIntents.create(payment())

    await expect(
      provider.stripe.paymentIntents.confirm(intent.id, { return_url: 'https://example.com/' }),
    ).rejects.toMatchObject({
      code: 'payment_intent_unexpected_state',
      message: expect.stringContaining('already succeeded'),
      payment_intent: { id: intent.id, status: 'succeeded' },
    })
    expect(await provider.executed()).toHaveLength(1)
  })
})

describe('capture', () => {
  test('releases the rest of a partial capture', async () => {
    const intent = await provider.stripe.paymentIntents.create(
      payment({ capture_method: 'manual' }),
    )

    const captured = await provider.stripe.paymentIntents.capture(intent.id, {
      amount_to_capture: 400,
    })

    expect(captured).toMatchObject({ amount: 1000, amount_received: 400, amount_capturable: 0 })
    expect((await provider.executed())[1]).toMatchObject({
      kind: 'payment_intent.capture',
      amount: 400,
    })
  })

  test('refuses more than the authorised amount', async () => {
    const intent = await provider.stripe.paymentIntents.create(
      payment({ capture_method: 'manual' }),
    )

    await expect(
      provider.stripe.paymentIntents.capture(intent.id, { amount_to_capture: 1001 }),
    ).rejects.toMatchObject({ code: 'amount_too_large', param: 'amount_to_capture' })
  })

  test.each([
    ['a captured intent', payment(), 'already been captured'],
    ['an unconfirmed intent', payment({ confirm: false }), 'a status of requires_confirmation'],
  ])('refuses %s', async (_state, terms, words) => {
    const intent = await provider.stripe.paymentIntents.create(terms)

    await expect(provider.stripe.paymentIntents.capture(intent.id)).rejects.toMatchObject({
      statusCode: 400,
      code: 'payment_intent_unexpected_state',
      message: expect.stringContaining(words),
      payment_intent: { id: intent.id },
    })
  })
})

// https://docs.stripe.com/error-codes: only some codes mean that nothing is held any more.
describe('a refused capture', () => {
  const refusedBy = (code: string) =>
    payment({ capture_method: 'manual', payment_method: `pm_fault_capture_${code}` })

  test.each([
    ['amount_too_small', 'requires_capture', null],
    ['amount_too_large', 'requires_capture', null],
    ['charge_expired_for_capture', 'canceled', 'expired'],
    ['capture_charge_authorization_expired', 'canceled', 'expired'],
    ['charge_already_captured', 'succeeded', null],
  ])('with %s leaves the intent %s', async (code, status, reason) => {
    const { paymentIntents } = provider.stripe
    const intent = await paymentIntents.create(refusedBy(code))
    const capture = () =>
      paymentIntents.capture(intent.id, { amount_to_capture: 999 }, { idempotencyKey: 'k' })

    await expect(capture()).rejects.toMatchObject({ statusCode: 400, code })

    const left = { status, cancellation_reason: reason }
    expect(await paymentIntents.retrieve(intent.id)).toMatchObject(left)
    // The refusal is kept under its key.
    await expect(capture()).rejects.toMatchObject({ statusCode: 400, code })
    expect(await paymentIntents.retrieve(intent.id)).toMatchObject(left)
  })
})

describe('increment authorization', () => {
  const eligible = (fields = {}) =>
    payment({
      capture_method: 'manual',
      payment_method_options: { card: { request_incremental_authorization: 'if_available' } },
      ...fields,
    })

  test('raises the authorised amount to the new total', async () => {
    const { paymentIntents } = provider.stripe
    const intent = await paymentIntents.create(eligible())

    const raised = await paymentIntents.incrementAuthorization(intent.id, { amount: 1500 })

    expect(raised).toMatchObject({
      amount: 1500,
      amount_capturable: 1500,
      status: 'requires_capture',
    })
    expect((await provider.executed())[1]).toMatchObject({
      kind: 'payment_intent.increment_authorization',
      amount: 1500,
    })
  })

  test('a decline of the card changes nothing', async () => {
    const { paymentIntents } = provider.stripe
    const method = { payment_method: 'pm_fault_increment_declined' }
    const intent = await paymentIntents.create(eligible(method))

    await expect(
      paymentIntents.incrementAuthorization(intent.id, { amount: 1500 }),
    ).rejects.toMatchObject({ statusCode: 402, code: 'card_declined' })

    expect(await paymentIntents.retrieve(intent.id)).toMatchObject({ amount: 1000 })
    expect(await provider.executed()).toHaveLength(1)
  })

  test.each([
    ['the same amount', eligible(), 1000, 'amount_too_small'],
    ['a lower amount', eligible(), 999, 'amount_too_small'],
    [
      'an intent that was not created for it',
      payment({ capture_method: 'manual' }),
      1500,
      'charge_not_eligible',
    ],
    ['a captured intent', payment(), 1500, 'payment_intent_unexpected_state'],
  ])('refuses %s', async (_case, terms, amount, code) => {
    const { paymentIntents } = provider.stripe
    const intent = await paymentIntents.create(terms)

    await expect(
      paymentIntents.incrementAuthorization(intent.id, { amount }),
    ).rejects.toMatchObject({ statusCode: 400, code })
  })
})

describe('cancel', () => {
  // https://docs.stripe.com/refunds#cancel-payment
  test('of an intent that waits for its cardholder wins or loses against the authentication', async () => {
    const { paymentIntents } = provider.stripe
    const secure = payment({
      capture_method: 'manual',
      payment_method: 'pm_card_threeDSecure2Required',
    })
    const [first, second] = [
      await paymentIntents.create(secure),
      await paymentIntents.create(secure),
    ]
    const authenticate = (id: string) =>
      provider.control('POST', `/payment_intents/${id}/authenticate`, { outcome: 'succeed' })

    await paymentIntents.cancel(first.id, { cancellation_reason: 'abandoned' })
    await expect(authenticate(first.id)).rejects.toThrow('it is canceled')
    await authenticate(second.id)
    const late = await paymentIntents.cancel(second.id)

    expect(late).toMatchObject({ status: 'canceled', amount_capturable: 0 })
    expect((await provider.executed()).map(({ kind, amount }) => [kind, amount])).toEqual([
      ['payment_intent.cancel', 0],
      ['payment_intent.confirm', 1000],
      ['payment_intent.cancel', 1000],
    ])
  })
})

describe('the page to return to', () => {
  const { return_url: _page, ...without } = payment()

  test('is demanded when an intent is confirmed at once', async () => {
    await expect(provider.stripe.paymentIntents.create(without)).rejects.toMatchObject({
      statusCode: 400,
      param: 'return_url',
      message: expect.stringContaining('you must provide a `return_url`'),
    })
    expect(await provider.executed()).toEqual([])
  })

  test('is demanded when an intent is confirmed later', async () => {
    const { id } = await provider.stripe.paymentIntents.create({ ...without, confirm: false })

    const confirmed = provider.stripe.paymentIntents.confirm(id)

    await expect(confirmed).rejects.toMatchObject({ statusCode: 400, param: 'return_url' })
  })

  test.each([
    { off_session: true },
    {
      automatic_payment_methods: { enabled: true, allow_redirects: 'never' as const },
      allowed_payment_method_types: undefined,
    },
  ])('is not demanded with %j', async (terms) => {
    const { allowed_payment_method_types: _types, ...bare } = without
    const intent = await provider.stripe.paymentIntents.create({ ...bare, ...terms } as never)

    expect(intent.status).toBe('succeeded')
  })
})
