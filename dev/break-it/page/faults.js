// The faults of the provider's stand-in, and the calls that they can strike.

/** Those of dev/stripe-stand-in/faults/faults.ts. @type {[string, string][]} */
export const FAULTS = [
  ['reset_after', 'executes, and resets the connection instead of an answer'],
  ['error_500_after', 'executes, and answers 500 each time'],
  ['hang_after', 'executes, and never answers'],
  ['delay', 'executes, and answers late'],
  ['truncated_body', 'executes, and sends half of the answer'],
  ['nonsense_body', 'executes, and answers with nonsense'],
  ['wrong_amount', 'executes, and answers with another amount'],
  ['slow_drip', 'executes, and answers in small pieces'],
  ['error_500_final', 'executes, answers 500, and forbids to retry'],
  ['reset_late', 'resets the connection, and executes later'],
  ['hang_late', 'never answers, and executes later'],
  ['error_500_late', 'answers 500, and executes later'],
  ['reset_before', 'resets the connection; nothing is executed'],
  ['hang_before', 'never answers; nothing is executed'],
  ['error_500_before', 'answers 500 each time; nothing is executed'],
  ['error_500_early', 'answers 500 once; nothing is executed'],
  ['refuse', 'refuses connections for a while'],
  ['unavailable', 'answers 503'],
  ['rate_limited', 'answers 429'],
  ['lock_timeout', 'answers 429, as if the payment were locked'],
  ['conflict', 'answers 409, as if the request still ran'],
]

/** @type {Record<string, { name: string, match: { method?: 'GET' | 'POST', path?: string } }>} */
export const PLACES = {
  capture: { name: 'the charge (capture)', match: { path: '/v1/payment_intents/*/capture' } },
  authorize: {
    name: 'the authorization',
    match: { method: 'POST', path: '/v1/payment_intents' },
  },
  look: { name: 'a look-up', match: { method: 'GET', path: '/v1/payment_intents/*' } },
  any: { name: 'any call', match: {} },
}
