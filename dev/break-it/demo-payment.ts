// The request by which the launcher of `npm start` makes a payment of the demo tenant.

export interface DemoPayment {
  /** The API key of the demo tenant. */
  readonly apiKey: string
  readonly idempotencyKey: string
  readonly amount: number
  readonly paymentMethod: string
  /** How long the service may wait for the result: the header `Prefer`. */
  readonly prefer?: string
}

/** Returns the options of a `fetch` of `POST /v1/payments`. */
export function demoPayment({
  apiKey,
  idempotencyKey,
  amount,
  paymentMethod,
  prefer,
}: DemoPayment): RequestInit {
  return {
    method: 'POST',
    headers: {
      authorization: `Bearer ${apiKey}`,
      'idempotency-key': idempotencyKey,
      'content-type': 'application/json',
      ...(prefer === undefined ? {} : { prefer }),
    },
    body: JSON.stringify({ amount, currency: 'usd', payment_method: paymentMethod }),
  }
}
