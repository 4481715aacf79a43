// Renders the table of docs/currencies.md: what an amount means in each currency, and who takes it.
import {
  takesCurrency,
  amountMaxMinor,
  currencies,
  decimalsOf,
} from '../../src/domain/payments/currency.ts'
import { capabilitiesOf, providerNames } from '../../src/provider/adapters.ts'
import { code, renderTable } from './markdown.ts'

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
