// Chooses the providers of a new payment: the first of the tenant's that takes it, and the next one as
// the fallback, to which the payment moves if the first is proved to have executed nothing.

/** One of a tenant's providers, in its order. */
export interface Route {
  readonly provider: string
  /** In lower case; absent: every currency. */
  readonly currencies?: readonly string[]
}

/** The other provider of a payment, with the payment method to charge there. */
export interface Fallback {
  readonly provider: string
  readonly payment_method: string
}

/** The parameters of `payment.create`. */
export interface CreateParameters {
  readonly fallback?: Fallback
}

export interface Routed {
  readonly provider: string
  readonly paymentMethod: string
  readonly fallback?: Fallback | undefined
}

/**
 * Routes a payment in a currency. With one payment method, it is of the first provider that takes the
 * currency, and there is no fallback. With payment methods by provider, only these providers count.
 * Undefined when no provider takes the payment.
 */
export function routePayment(
  routes: readonly Route[],
  currency: string,
  paymentMethods: string | Readonly<Record<string, string>>,
): Routed | undefined {
  const fit = routes.filter(({ currencies }) => currencies?.includes(currency) ?? true)
  const methodOf = ({ provider }: Route): string | undefined =>
    typeof paymentMethods === 'string' ? paymentMethods : paymentMethods[provider]
  const [first, second] = fit.flatMap((route) => {
    const payment_method = methodOf(route)
    return payment_method === undefined ? [] : [{ provider: route.provider, payment_method }]
  })
  if (first === undefined) return undefined
  const { provider, payment_method: paymentMethod } = first
  return typeof paymentMethods === 'string'
    ? { provider, paymentMethod }
    : { provider, paymentMethod, fallback: second }
}
