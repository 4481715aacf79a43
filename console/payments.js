// The list of payments of all tenants, newest first. New ones do not push the others down: a bar says
// how many there are.
import { useEffect, useState } from 'preact/hooks'
import { withQuery } from './api.js'
import { words } from './format.js'
import { html } from './html.js'
import { parseAmount } from './money.js'
import { Amount, Foreign, Id, Status, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { ChoiceFilter, Filters, List, listQuery, PAGE_ROWS, TextFilter } from './table.js'

const STATUSES = [
  'processing',
  'requires_action',
  'requires_capture',
  'succeeded',
  'declined',
  'canceled',
  'failed',
  'unknown',
]

const COLUMNS = ['Payment', 'Status', 'Amount', 'Description', 'Operation', 'Created']

/** @param {{ route: import('./route.js').Route }} props */
export function Payments({ route }) {
  const list = useResource(withQuery('/admin/payments', toService(listQuery(route))), {
    everyMs: 3_000,
    live: true,
  })
  const { items, newer, showNewer } = useSteadyRows(list.value?.data, route)
  return html`
    <h1>Payments</h1>
    <${PaymentFilters} route=${route} problem=${list.problem} />
    <p class="news" role="status">
      ${
        newer > 0 &&
        html`<button type="button" onClick=${showNewer}>
          ${newer >= PAGE_ROWS ? `${PAGE_ROWS} or more` : newer} new
        </button>`
      }
    </p>
    <${List}
      ...${{ list, route, items, cells }}
      caption="Payments, newest first"
      columns=${COLUMNS}
      empty=${list.value?.searched_to ? 'No payment of those looked at matches.' : 'No payment matches.'}
    />
    ${
      list.value?.searched_to &&
      html`<p class="quiet">
        Few payments match. The search ended before it looked at all of them.
      </p>`
    }
  `
}

/** @param {any} payment */
function cells({ id, status, amount, currency, tenant, description, operation, created_at: at }) {
  return [
    html`<${Id} id=${id} /><br /><${Tenant} id=${tenant} />`,
    html`<${Status} status=${status} />`,
    html`<${Amount} minor=${amount} currency=${currency} />`,
    html`<${Foreign} text=${description} />`,
    operation === null
      ? html`<span class="quiet">none</span>`
      : html`<${Id} id=${operation.id} /><br /><span class="quiet"
            >${operation.operation}, ${words(operation.status)} at ${operation.recovery_point}</span
          >`,
    html`<${Time} at=${at} />`,
  ]
}

/** @param {{ route: import('./route.js').Route, problem: Error | undefined }} props */
function PaymentFilters({ route, problem }) {
  const { query } = route
  const options = [['', 'any'], ...STATUSES.map((status) => [status, words(status)])]
  const yes = [
    ['', 'any'],
    ['true', 'stuck only'],
  ]
  return html`<${Filters} ...${{ route, problem }} check=${checkAmount}>
    <${ChoiceFilter} label="Status" name="status" value=${query['status']} options=${options} />
    <${ChoiceFilter} label="Progress" name="stuck" value=${query['stuck']} options=${yes} />
    <${TextFilter} label="Tenant" name="tenant" value=${query['tenant']} hint="tnt_..." />
    <${TextFilter} label="Amount" name="amount" value=${query['amount']} hint="19.99" size=${8} />
    <${TextFilter}
      label="Currency"
      name="currency"
      value=${query['currency']}
      hint="usd"
      size=${4}
    />
    <${TextFilter} label="Idempotency key" name="key" value=${query['key']} />
    <${TextFilter}
      label="Provider id"
      name="provider_id"
      value=${query['provider_id']}
      hint="pi_..."
    />
  <//>`
}

/** @param {Record<string, string>} filters @returns {Record<string, string>} */
function checkAmount({ amount, currency = '' }) {
  if (amount === undefined) return {}
  if (currency === '') return { currency: 'An amount needs a currency.' }
  return parseAmount(amount, currency.toLowerCase()) === undefined
    ? { amount: `Not an amount in ${currency.toUpperCase()}.` }
    : {}
}

/** The URL has the amount as a person writes it. @param {import('./api.js').Query} query */
function toService({ amount, currency, ...query }) {
  const code = String(currency ?? '').toLowerCase()
  if (amount === undefined) return { ...query, currency: code }
  return { ...query, currency: code, amount: parseAmount(String(amount), code) ?? String(amount) }
}

/**
 * Keeps the rows in their places when the list is read again, with their present contents.
 *
 * @param {any[] | undefined} latest
 * @param {import('./route.js').Route} route
 */
function useSteadyRows(latest, { query }) {
  const [shown, setShown] = useState(/** @type {any[] | undefined} */ (undefined))
  const list = JSON.stringify(query)
  useEffect(() => setShown(undefined), [list])
  useEffect(() => {
    if (latest === undefined) return
    setShown((before) => {
      if (before === undefined || before.length === 0) return latest
      const present = new Map(latest.map((payment) => [payment.id, payment]))
      return before.map((payment) => present.get(payment.id) ?? payment)
    })
  }, [latest])
  const first = shown?.[0]?.id
  const place = latest?.findIndex(({ id }) => id === first) ?? 0
  const newer = first === undefined || latest === undefined ? 0 : place < 0 ? latest.length : place
  return { items: shown, newer, showNewer: () => setShown(latest) }
}
