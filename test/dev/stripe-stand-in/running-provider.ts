// Runs a Stripe stand-in inside the test process on a free port, and gives access to it by Stripe's
// official client and by the control routes.
import { Stripe } from 'stripe'
import { createStripeStandIn, type StripeStandInOptions } from '../../../dev/stripe-stand-in/app.ts'
import { until } from '../../support/until.ts'

export interface RunningProvider {
  url: string
  stripe: Stripe
  control<Body>(method: string, route: string, body?: object): Promise<Body>
  executed(): Promise<ExecutedEntry[]>
  addFault(rule: object): Promise<void>
  /** Resolves when a rule, by default the first one, has injected its fault. */
  waitForFault(rule?: number): Promise<void>
  close: () => Promise<void>
}

interface ExecutedEntry {
  seq: number
  at: string
  kind: string
  id: string
  amount: number
  currency: string
  idempotency_key: string | null
  metadata: Record<string, string>
}

export async function startProvider(
  options: Partial<StripeStandInOptions> = {},
): Promise<RunningProvider> {
  const provider = createStripeStandIn({ path: ':memory:', ...options })
  const port = await provider.listen({ host: '127.0.0.1', port: 0 })
  return { ...connect(port), close: provider.close }
}

/** Connects to the stand-in on that port, in this process or in another one. */
export function connect(port: number): Omit<RunningProvider, 'close'> {
  const url = `http://127.0.0.1:${port}`
  const control = async <Body>(method: string, route: string, body?: object) => {
    const init = body ? { method, body: JSON.stringify(body) } : { method }
    const response = await fetch(`${url}/_control${route}`, init)
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as Body
  }
  return {
    url,
    stripe: createClient(port),
    control,
    executed: async () => (await control<{ data: ExecutedEntry[] }>('GET', '/executed')).data,
    addFault: async (rule) => void (await control('POST', '/faults', rule)),
    waitForFault: async (rule = 0) => {
      await until(async () => {
        const rules = await control<{ data: { struck: number }[] }>('GET', '/faults')
        return (rules.data[rule]?.struck ?? 0) > 0
      })
    },
  }
}

/** Creates Stripe's official client without automatic retries, as the service does. */
export function createClient(port: number, settings: { apiKey?: string; timeout?: number } = {}) {
  const { apiKey = 'sk_test_mock', timeout = 30_000 } = settings
  const address = { host: '127.0.0.1', port, protocol: 'http' as const }
  return new Stripe(apiKey, { ...address, maxNetworkRetries: 0, telemetry: false, timeout })
}

/** Parameters of a payment of 10.00 EUR that is confirmed at once. */
export function payment(
  terms: Partial<Stripe.PaymentIntentCreateParams> = {},
): Stripe.PaymentIntentCreateParams {
  return {
    amount: 1000,
    currency: 'eur',
    confirm: true,
    return_url: 'https://example.com/',
    payment_method: 'pm_card_visa',
    allowed_payment_method_types: ['card'],
    ...terms,
  }
}
