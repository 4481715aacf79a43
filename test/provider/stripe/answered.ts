// What Stripe answers to the requests of the adapter's tests.

/** An intent that matches the request, except for the given members. */
export const intent = (fields: Record<string, unknown> = {}) => ({
  id: 'pi_1',
  object: 'payment_intent',
  amount: 1999,
  amount_capturable: 1999,
  amount_received: 0,
  currency: 'eur',
  status: 'requires_capture',
  client_secret: 'pi_1_secret_1',
  ...fields,
})
/** The charge of that intent, except for the given members. */
export const charge = (fields: Record<string, unknown> = {}) => ({
  id: 'ch_1',
  object: 'charge',
  amount: 1999,
  currency: 'eur',
  payment_intent: 'pi_1',
  ...fields,
})
/** A refund that matches the request, except for the given members. */
export const refund = (fields: Record<string, unknown> = {}) => ({
  id: 're_1',
  object: 'refund',
  amount: 1999,
  currency: 'eur',
  payment_intent: 'pi_1',
  status: 'succeeded',
  ...fields,
})
export const taken = { status: 'succeeded', amount_capturable: 0, amount_received: 1999 }
