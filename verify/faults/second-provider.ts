// The stand-in of a lane's second provider, to which payments can move. Its log is read in the words of the
// first one's.
import { showPaymentId } from '../../src/domain/payments/payment.ts'
import type { CallName } from '../../src/provider/calls.ts'
import { showRefundId } from '../../src/domain/payments/refund.ts'
import { type Executed, providerAt } from '../simulate/faults.ts'
import { startListening } from '../listening-process.ts'
import { calls } from '../../test/provider/stripe/calls.ts'
import { programIn, SECOND_STAND_IN } from './programs.ts'
import type { OwnEntry, SecondProviderKind } from './second-provider-kind.ts'

export async function startSecondProvider(
  second: SecondProviderKind,
  programs: string,
  settings: Readonly<Record<string, string>>,
) {
  const script = programIn(programs, SECOND_STAND_IN)
  const standIn = await startListening(script, { ...settings, [second.standIn.port]: '0' })
  const provider = providerAt(standIn.url)
  await provider.control('POST', 'settings', second.standIn.settings)
  return {
    standIn,
    async listExecuted(): Promise<Executed[]> {
      const { data } = (await provider.control('GET', 'executed')) as { data: OwnEntry[] }
      return data.map((entry) => {
        const ids = second.idsOf(entry)
        const kind = kindAtFirst(second, entry.kind)
        const payment = ids && { atomic_payment: showPaymentId(ids.paymentId) }
        const refund = ids?.refundId && { atomic_refund: showRefundId(ids.refundId) }
        return { ...entry, kind, provider: second.name, metadata: { ...payment, ...refund } }
      })
    },
    removeFaults: () => provider.removeFaults(),
  }
}

/** A kind of its log in the words of the first provider's. */
function kindAtFirst({ requests }: SecondProviderKind, kind: string): string {
  const [name] = Object.entries(requests.calls).find(([, call]) => call.kind === kind) ?? []
  return name === undefined ? kind : calls[name as CallName].kind
}
