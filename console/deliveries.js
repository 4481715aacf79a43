// Deliveries of events to webhook endpoints, with their attempts.
import { Action } from './action.js'
import { change, withQuery } from './api.js'
import { formatDuration } from './format.js'
import { html } from './html.js'
import { Id, Status, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { ChoiceFilter, Filters, List, listQuery, TextFilter } from './table.js'

const STATUSES = [
  ['', 'any'],
  ['pending', 'pending'],
  ['succeeded', 'succeeded'],
  ['failed', 'failed'],
]

const COLUMNS = ['Delivery', 'Status', 'Endpoint', 'Attempts', 'Next attempt', 'Created', 'Change']

/**
 * @param {object} props
 * @param {import('./route.js').Route} props.route
 * @param {string} [props.endpoint] only its deliveries.
 * @param {Record<string, string>} [props.keep] what is in the URL for the page, not for the service.
 */
export function DeliveryList({ route, endpoint, keep = {} }) {
  const { query } = route
  const asked = Object.entries({ ...listQuery(route), endpoint: endpoint ?? query['endpoint'] })
  const filters = Object.fromEntries(asked.filter(([name]) => !Object.hasOwn(keep, name)))
  const list = useResource(withQuery('/admin/webhook-deliveries', filters), {
    everyMs: 3_000,
    live: true,
  })
  const cells = cellsWith(list.reload)
  return html`
    <${Filters} ...${{ route, problem: list.problem }} keep=${keep}>
      <${ChoiceFilter} label="Status" name="status" value=${query['status']} options=${STATUSES} />
      ${
        endpoint === undefined &&
        html`<${TextFilter}
            label="Endpoint"
            name="endpoint"
            value=${query['endpoint']}
            hint="we_..."
          />
          <${TextFilter} label="Tenant" name="tenant" value=${query['tenant']} hint="tnt_..." />`
      }
    <//>
    <${List}
      ...${{ list, route, cells }}
      caption="Deliveries, newest first"
      columns=${COLUMNS}
      empty="No delivery matches."
    />
  `
}

/** @param {() => void} done */
const cellsWith = (done) => (/** @type {any} */ delivery) => [
  html`<code>${delivery.id}</code><br />${delivery.event_type}<br /><code class="quiet"
      >${delivery.event}</code
    >`,
  html`<${Status} status=${delivery.status} />`,
  html`<${Id} id=${delivery.endpoint} /><br /><${Tenant} id=${delivery.tenant} />`,
  html`<${Attempts} attempts=${delivery.attempts} />`,
  html`<${Time} at=${delivery.next_attempt_at} />`,
  html`<${Time} at=${delivery.created_at} />`,
  html`<${Action}
    label="Redeliver"
    name=${`Redeliver ${delivery.id}`}
    title="Send this event again?"
    done=${done}
    run=${() => change('POST', `/admin/webhook-deliveries/${delivery.id}/redeliver`)}
  >
    <p>The endpoint gets the event ${delivery.event} again, with all retries.</p>
  <//>`,
]

/** @param {{ attempts: any[] }} props */
function Attempts({ attempts }) {
  if (attempts.length === 0) return html`<span class="quiet">none</span>`
  return html`<ol class="plain">
    ${attempts.map(
      ({ number, started_at: at, latency_ms: ms, http_status: status, error }) =>
        html`<li key=${number}>
          <${Time} at=${at} />: <strong>${status ?? error}</strong> in ${formatDuration(ms)}
        </li>`,
    )}
  </ol>`
}
