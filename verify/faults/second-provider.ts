// The stand-in of a lane's second provider, to which payments can move. Its log is read in the words of the
// first one's.
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import { showRefundId } from '../../src/domain/payments/refund.ts'
import { type Executed, type Provider, providerAt } from '../simulate/faults.ts'
import { programIn, SECOND_STAND_IN } from './programs.ts'
import type { OwnEntry, SecondProviderKind } from './second-provider-kind.ts'
import { type StandIn, startStandIn } from './service-process.ts'

export class SecondProvider {
  readonly url: string
  readonly #kind: SecondProviderKind
  readonly #control: Provider
  readonly #standIn: StandIn

  private constructor(kind: SecondProviderKind, standIn: StandIn) {
    this.url = standIn.url
    this.#kind = kind
    this.#control = providerAt(standIn.url)
    this.#standIn = standIn
  }

  static async start(
    kind: SecondProviderKind,
    programs: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<SecondProvider> {
    const script = programIn(programs, SECOND_STAND_IN)
    const standIn = await startStandIn(script, { ...settings, [kind.standIn.port]: '0' })
    const started = new SecondProvider(kind, standIn)
    await started.#control.control('POST', 'settings', kind.standIn.settings)
    return started
  }

  async listExecuted(): Promise<Executed[]> {
    const { data } = (await this.#control.control('GET', 'executed')) as { data: OwnEntry[] }
    return data.map((entry) => {
      const ids = this.#kind.idsOf(entry)
      const kind = this.#kind.kinds[entry.kind] ?? entry.kind
      const payment = ids && { atomic_payment: showPaymentId(ids.paymentId) }
      const refund = ids?.refundId && { atomic_refund: showRefundId(ids.refundId) }
      return { ...entry, kind, provider: this.#kind.name, metadata: { ...payment, ...refund } }
    })
  }

  async removeFaults(): Promise<void> {
    await this.#control.removeFaults()
  }

  async stop(): Promise<void> {
    await this.#standIn.stop()
  }
}
