// Renders the tables of the domain: the statuses of payments, refunds and operations as state diagrams, and
// what an amount means in each currency, and who takes it.
import { operationMoves } from '../../src/domain/operations/operation.ts'
import {
  takesCurrency,
  amountMaxMinor,
  currencies,
  decimalsOf,
} from '../../src/domain/payments/currency.ts'
import { initialStatus, paymentTransitions } from '../../src/domain/payments/payment.ts'
import { refundTransitions } from '../../src/domain/payments/refund.ts'
import { capabilitiesOf, providerNames } from '../../src/provider/adapters.ts'
import { code, renderStateDiagram, renderTable } from './markdown.ts'

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

const EXAMPLE = 50_000

export function renderCurrencies(): string {
  const header = ['currency', 'decimals', `\`${EXAMPLE}\` is`, 'largest', ...providerNames]
  const rows = currencies.map((currency) => [
    code(currency),
    String(decimalsOf(currency)),
    (EXAMPLE / 10 ** decimalsOf(currency)).toFixed(decimalsOf(currency)),
    code(String(amountMaxMinor(currency))),
    ...providerNames.map((name) => showProvider(name, currency)),
  ])
  return renderTable(header, rows)
}

function showProvider(name: string, currency: string): string {
  const { amounts } = capabilitiesOf(name)
  if (!takesCurrency(amounts, currency)) return 'no'
  const step = amounts.steps.get(currency)
  return step === undefined ? '' : `multiples of ${step}`
}
