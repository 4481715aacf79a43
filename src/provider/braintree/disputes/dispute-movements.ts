// Lists what disputes moved: the disputed amount on the day on which the dispute was received, and what
// was won on the day on which that took effect.
import type { MovementKind } from '../../../domain/ledger/ledger.ts'
import type { OnRepeat, ProviderMovement, Window } from '../../payment-provider.ts'
import type { Connection } from '../connection.ts'
import { correlationIn } from '../order-id.ts'
import { wonAt, type ReadDispute } from './dispute-standing.ts'
import { isWithin, searchDisputes } from './disputes.ts'

export async function* listDisputeMovements(
  connection: Connection,
  window: Window,
  onRepeat?: OnRepeat,
): AsyncGenerator<readonly ProviderMovement[]> {
  const isInside = isWithin(window)
  for await (const page of searchDisputes(connection, 'receivedDate', window, onRepeat)) {
    const taken = page.filter(({ receivedAt }) => isInside(receivedAt))
    yield taken.flatMap((dispute) => movementsOf(dispute, 'dispute', dispute.receivedAt))
  }
  for await (const page of searchDisputes(connection, 'effectiveDate', window, onRepeat)) {
    yield page.flatMap((dispute) => {
      const time = wonAt(dispute)
      const isWon = time !== undefined && isInside(time)
      return isWon ? movementsOf(dispute, 'dispute_reversal', time) : []
    })
  }
}

/** Empty for a dispute that moved nothing, such as a retrieval. */
function movementsOf(
  { id, providerPaymentId, standing, orderId }: ReadDispute,
  kind: MovementKind & ('dispute' | 'dispute_reversal'),
  createdAt: Date,
): ProviderMovement[] {
  if (standing === undefined) throw new Error(`the dispute ${id} is in an unknown state`)
  const { currency, withdrawnMinor, reinstatedMinor } = standing
  const amountMinor = kind === 'dispute' ? withdrawnMinor : reinstatedMinor
  if (amountMinor === 0) return []
  return [
    {
      movementId: `${id}_${kind}`,
      kind,
      amountMinor,
      currency,
      fee: { amountMinor: 0, currency },
      providerPaymentId,
      providerRefundId: null,
      providerDisputeId: id,
      createdAt,
      correlation: correlationIn(orderId),
    },
  ]
}
