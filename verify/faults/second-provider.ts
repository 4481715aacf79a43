// The second provider of a lane: a Braintree stand-in, to which payments can move. Its log is read in
// the words of the first one's.
import { correlationIn } from '../../src/provider/braintree/order-id.ts'
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { showRefundId } from '../../src/domain/payments/refund.ts'
import { providerAt, type Executed, type Provider } from '../simulate/provider.ts'
import type { Patch } from './mutants/mutant.ts'
import { programIn } from './programs.ts'
import { startStandIn, type StandIn } from './stand-in.ts'

/** The name of the provider in payments. */
export const SECOND_PROVIDER = 'braintree'

/** The settings with which a service uses it. Each process gets its address. */
export const settingsOfSecond = (privateKey: string) => ({
  BRAINTREE_ENVIRONMENT: 'sandbox',
  BRAINTREE_MERCHANT_ID: 'merchant',
  BRAINTREE_PUBLIC_KEY: 'public_key',
  BRAINTREE_PRIVATE_KEY: privateKey,
  BRAINTREE_MERCHANT_ACCOUNTS: 'usd=usd_account,eur=eur_account',
})

/**
 * Braintree proves the absence of a call after more than an hour, and no setting shortens that. The
 * stand-in executes nothing late, and its search shows everything at once.
 */
export const SHORT_WAITS: readonly Patch[] = [
  {
    file: 'src/provider/braintree/capabilities.ts',
    text: 'settleSeconds: 60,',
    replacement: 'settleSeconds: 1,',
  },
  {
    file: 'src/provider/braintree/capabilities.ts',
    text: 'lookUpLagSeconds: 60 * 60,',
    replacement: 'lookUpLagSeconds: 0,',
  },
]

const KINDS: Readonly<Record<string, string>> = {
  'transaction.sale': 'payment_intent.create',
  'transaction.submit_for_settlement': 'payment_intent.capture',
  'transaction.void': 'payment_intent.cancel',
  'transaction.refund': 'refund.create',
}

interface OwnEntry extends Omit<Executed, 'metadata'> {
  readonly order_id: string | null
}

export class SecondProvider {
  readonly url: string
  readonly #control: Provider
  readonly #standIn: StandIn

  private constructor(standIn: StandIn) {
    this.url = standIn.url
    this.#control = providerAt(standIn.url)
    this.#standIn = standIn
  }

  static async start(
    programs: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<SecondProvider> {
    const script = programIn(programs, 'braintree-stand-in')
    const standIn = await startStandIn(script, { ...settings, BRAINTREE_STAND_IN_PORT: '0' })
    const started = new SecondProvider(standIn)
    // An account can have its check for duplicates switched off.
    await started.#control.control('POST', 'settings', { duplicate_seconds: 0 })
    return started
  }

  async listExecuted(): Promise<Executed[]> {
    const { data } = (await this.#control.control('GET', 'executed')) as { data: OwnEntry[] }
    return data.map(({ order_id: orderId, ...entry }) => {
      const ids = correlationIn(orderId)
      const kind = KINDS[entry.kind] ?? entry.kind
      const payment = ids && { atomic_payment: showPaymentId(ids.paymentId) }
      const refund = ids?.refundId && { atomic_refund: showRefundId(ids.refundId) }
      return { ...entry, kind, provider: SECOND_PROVIDER, metadata: { ...payment, ...refund } }
    })
  }

  async removeFaults(): Promise<void> {
    await this.#control.removeFaults()
  }

  async stop(): Promise<void> {
    await this.#standIn.stop()
  }
}
