// Lists what moved money, for reconciliation. Braintree shows no balance and no fees, so a movement is
// read from its transaction or dispute: a capture when it was submitted for settlement, as the ledger
// posts it, a refund when it was settled.
import type { MovementKind } from '../../../src/domain/ledger/ledger.ts'
import type { OnRepeat, ProviderMovement, Window } from '../../../src/provider/payment-provider.ts'
import type { Connection } from '../connection.ts'
import { CAPTURED } from '../provider-status.ts'
import { isTransactionId, timeOfStatus, type Transaction } from '../transaction.ts'
import { listTransactions, type Listing } from './records.ts'
import { correlationIn } from '../order-id.ts'
import { wonAt, type ReadDispute, isWithin, searchDisputes } from '../disputes/disputes.ts'

const submitted: Listing = {
  type: 'sale',
  field: 'submittedForSettlementAt',
  timeOf: (transaction) => timeOfStatus(transaction, 'submitted_for_settlement'),
}
const settled: Listing = {
  type: 'credit',
  field: 'settledAt',
  timeOf: (transaction) => timeOfStatus(transaction, 'settled'),
}

export async function* listMovements(
  connection: Connection,
  window: Window,
  onRepeat?: OnRepeat,
): AsyncGenerator<readonly ProviderMovement[]> {
  for await (const page of listTransactions(connection, submitted, window, onRepeat)) {
    // A capture that was voided before its settlement, or declined in it, has moved nothing.
    const captured = page.filter(({ status }) => CAPTURED.has(status))
    yield captured.map((sale) => movementOf(sale, 'capture', submitted, sale.id))
  }
  for await (const page of listTransactions(connection, settled, window, onRepeat)) {
    yield page.map((credit) => {
      const { refundedTransactionId: saleId } = credit.members
      return movementOf(credit, 'refund', settled, isTransactionId(saleId) ? saleId : null)
    })
  }
  yield* listDisputeMovements(connection, window, onRepeat)
}

function movementOf(
  transaction: Transaction,
  kind: MovementKind,
  { timeOf }: Listing,
  providerPaymentId: string | null,
): ProviderMovement {
  const { id, amountMinor, currency, correlation, createdAt } = transaction
  return {
    movementId: id,
    kind,
    amountMinor,
    currency,
    fee: { amountMinor: 0, currency },
    providerPaymentId,
    providerRefundId: kind === 'refund' ? id : null,
    providerDisputeId: null,
    createdAt: timeOf(transaction) ?? createdAt,
    correlation,
  }
}

/**
 * What disputes moved: the disputed amount on the day on which the dispute was received, and what was won on
 * the day on which that took effect.
 */
async function* listDisputeMovements(
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
  { id, providerPaymentId, providerStatus, orderId }: ReadDispute,
  kind: MovementKind & ('dispute' | 'dispute_reversal'),
  createdAt: Date,
): ProviderMovement[] {
  if (providerStatus === undefined) throw new Error(`the dispute ${id} is in an unknown state`)
  const { currency, withdrawnMinor, reinstatedMinor } = providerStatus
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
