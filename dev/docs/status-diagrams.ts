// Renders the statuses of payments, refunds and operations as state diagrams, from the tables of the domain.
import { operationMoves } from '../../src/domain/operations/operation.ts'
import { initialStatus, paymentTransitions } from '../../src/domain/payments/payment.ts'
import { refundTransitions } from '../../src/domain/payments/refund.ts'
import { renderStateDiagram } from './markdown.ts'

export const renderPaymentStates = (): string => renderTransitions(paymentTransitions)

export const renderRefundStates = (): string => renderTransitions(refundTransitions)

export function renderOperationStates(): string {
  return renderStateDiagram(
    operationMoves.map(({ from, to, by }) => ({
      from: from === 'new' ? '[*]' : from,
      to: to === 'gone' ? '[*]' : to,
      label: by,
    })),
  )
}

/** A status that nothing follows leads to the end. */
function renderTransitions(transitions: Readonly<Record<string, readonly string[]>>): string {
  const arrows = Object.entries(transitions).flatMap(([from, next]) =>
    (next.length === 0 ? ['[*]'] : next).map((to) => ({ from, to })),
  )
  return renderStateDiagram([{ from: '[*]', to: initialStatus }, ...arrows])
}
