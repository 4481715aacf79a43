// Calls of the Braintree adapter for tests: payments, a stand-in, and an adapter for any server.
import { createBraintreeStandIn } from '../stand-in/app.ts'
import type { Payment } from '../../../src/domain/payments/payment.ts'
import { createBraintreeProvider, type BraintreeOptions } from '../braintree-provider.ts'
import type { PaymentProvider } from '../../../src/provider/payment-provider.ts'
import { authorize, capture } from '../../../test/provider/contract/calls.ts'
import { newPayment } from '../../../test/provider/contract/payments.ts'

export const KEYS = {
  merchantId: 'merchant',
  publicKey: 'public_key',
  privateKey: 'private_very_secret_indeed',
}

/** The settings of a process that calls a stand-in as Braintree. */
export const settingsFor = (url: string) => ({
  BRAINTREE_ENVIRONMENT: 'sandbox',
  BRAINTREE_MERCHANT_ID: KEYS.merchantId,
  BRAINTREE_PUBLIC_KEY: KEYS.publicKey,
  BRAINTREE_PRIVATE_KEY: KEYS.privateKey,
  BRAINTREE_MERCHANT_ACCOUNTS: 'eur=eur_account',
  BRAINTREE_API_BASE: url,
})

/** Longer than a normal answer takes on a busy machine. */
const HOLD_BACK_MS = 10_000

const FAR_FUTURE_MS = 4_000_000_000_000

export function paymentOf(fields: Partial<Payment> = {}): Payment {
  return newPayment({ provider: 'braintree', paymentMethod: 'fake-valid-nonce', ...fields })
}

export function adapterFor(
  url: string,
  timeoutMs = HOLD_BACK_MS,
  options: Partial<BraintreeOptions> = {},
): PaymentProvider {
  return createBraintreeProvider({
    environment: 'sandbox',
    ...KEYS,
    merchantAccounts: { eur: 'eur_account', jpy: 'jpy_account', isk: 'isk_account' },
    apiBase: url,
    timeoutMs,
    // Long after every call, so that a search shows all of them.
    now: () => FAR_FUTURE_MS,
    ...options,
  })
}

export interface RunningStandIn {
  readonly url: string
  control<Body>(method: string, route: string, body?: object): Promise<Body>
  executed(): Promise<ExecutedEntry[]>
  addFault(rule: object): Promise<void>
  close(): Promise<void>
}

interface ExecutedEntry {
  readonly kind: string
  readonly id: string
  readonly amount: number
  readonly currency: string
  readonly order_id: string | null
}

export async function startStandIn(systemNow?: () => number): Promise<RunningStandIn> {
  const standIn = createBraintreeStandIn(systemNow && { systemNow })
  const port = await standIn.listen({ host: '127.0.0.1', port: 0 })
  const url = `http://127.0.0.1:${port}`
  const control = async <Body>(method: string, route: string, body?: object) => {
    const init = body ? { method, body: JSON.stringify(body) } : { method }
    const headers = { connection: 'close' }
    const response = await fetch(`${url}/_control${route}`, { ...init, headers })
    if (!response.ok) throw new Error(await response.text())
    return (await response.json()) as Body
  }
  return {
    url,
    control,
    executed: async () => (await control<{ data: ExecutedEntry[] }>('GET', '/executed')).data,
    addFault: async (rule) => void (await control('POST', '/faults', rule)),
    close: standIn.close,
  }
}

export const authorized = (adapter: PaymentProvider, fields: Partial<Payment> = {}) =>
  authorize(adapter, paymentOf(fields))

/** A captured payment that Braintree has settled, so that it can be refunded. */
export async function settled(adapter: PaymentProvider, standIn: RunningStandIn) {
  const payment = await capture(adapter, await authorized(adapter))
  const route = `/transactions/${payment.providerPaymentId}/status`
  await standIn.control('POST', route, { status: 'settled' })
  return payment
}
