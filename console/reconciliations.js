// Reconciliations: comparisons of our records with the provider's over a period.
import { Action, Field } from './action.js'
import { change, withQuery } from './api.js'
import { localInput } from './format.js'
import { html } from './html.js'
import { Foreign, Id, Status, Time } from './parts.js'
import { useResource } from './resource.js'
import { go, hrefOf } from './route.js'
import { List, listQuery } from './table.js'

const COLUMNS = [
  'Reconciliation',
  'Status',
  'From',
  'To',
  'Requested by',
  'Requested',
  'Finished',
  'Last error',
]

/** @param {{ route: import('./route.js').Route }} props */
export function Reconciliations({ route }) {
  const list = useResource(withQuery('/admin/reconciliations', listQuery(route)), {
    everyMs: 3_000,
  })
  return html`
    <h1>Reconciliations</h1>
    <p>
      Compares our records of a period with the provider's. It repairs what it can, and opens a
      finding for each remaining difference. It runs once a day by itself.
    </p>
    <${Request} />
    <${List}
      ...${{ list, route, cells }}
      caption="Reconciliations, newest first"
      columns=${COLUMNS}
      empty="No reconciliation yet."
    />
  `
}

/** @param {import('../client/operators-schema.ts').components['schemas']['Reconciliation']} run */
function cells(run) {
  return [
    html`<${Id} id=${run.id} />`,
    html`<${Status} status=${run.status} />`,
    html`<${Time} at=${run.from} />`,
    html`<${Time} at=${run.to} />`,
    html`<bdi>${run.requested_by}</bdi>`,
    html`<${Time} at=${run.created_at} />`,
    html`<${Time} at=${run.finished_at} />`,
    html`<${Foreign} text=${run.last_error} />`,
  ]
}

const DAY_MS = 86_400_000

/** @param {Record<string, string>} fields */
async function request({ from = '', to = '' }) {
  const body = { from: new Date(from).toISOString(), to: new Date(to).toISOString() }
  const run = await change('POST', '/admin/reconciliations', body)
  go(hrefOf('reconciliations', {}, run.id))
}

function Request() {
  const now = new Date()
  return html`<p>
    <${Action}
      label="Request a reconciliation"
      title="Compare which period?"
      confirm="Request it"
      run=${request}
    >
      <p>A worker reads the provider's records of this period. No money moves.</p>
      <${Field}
        label="From"
        name="from"
        type="datetime-local"
        required
        defaultValue=${localInput(new Date(now.getTime() - DAY_MS))}
        hint="In your time zone."
      />
      <${Field}
        label="To"
        name="to"
        type="datetime-local"
        required
        defaultValue=${localInput(now)}
        hint="The end does not belong to the period."
      />
    <//>
  </p>`
}
