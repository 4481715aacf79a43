// One webhook endpoint, its deliveries, and the replay of those that failed.
import { Action, Field } from './action.js'
import { change } from './api.js'
import { DeliveryList } from './deliveries.js'
import { localInput, plural } from './format.js'
import { html } from './html.js'
import { Facts, Foreign, Loading, Tenant, Time } from './parts.js'
import { useResource } from './resource.js'
import { EndpointStatus } from './webhooks.js'

/** @param {{ route: import('./route.js').Route }} props */
export function WebhookEndpoint({ route }) {
  const { id = '' } = route
  const path = `/admin/webhook-endpoints/${encodeURIComponent(id)}`
  const endpoint = useResource(path, { everyMs: 5_000 })
  const { value } = endpoint
  return html`
    <h1>Webhook endpoint <code>${id}</code></h1>
    ${
      value === undefined
        ? html`<${Loading} of=${endpoint} />`
        : html`
            <${EndpointFacts} endpoint=${value} />
            <${Replay} path=${path} />
          `
    }
    <h2>Deliveries</h2>
    <${DeliveryList} route=${route} endpoint=${id} />
  `
}

/** @param {{ endpoint: any }} props */
function EndpointFacts({ endpoint }) {
  /** @type {[string, unknown][]} */
  const facts = [
    ['Status', html`<${EndpointStatus} endpoint=${endpoint} />`],
    ['Tenant', html`<${Tenant} id=${endpoint.tenant} />`],
    ['URL', html`<${Foreign} text=${endpoint.url} />`],
    ['Description', html`<${Foreign} text=${endpoint.description} />`],
    ['Events', endpoint.event_types.join(', ')],
    ['Created', html`<${Time} at=${endpoint.created_at} />`],
  ]
  return html`<${Facts} facts=${facts} />`
}

const DAY_MS = 86_400_000

/** @param {{ path: string }} props */
function Replay({ path }) {
  const replay = ({ since = '' }) =>
    change('POST', `${path}/replay`, { since: new Date(since).toISOString() })
  return html`<p>
    <${Action}
      label="Replay failed deliveries"
      title="Send the failed events again?"
      danger=${true}
      confirm="Send them again"
      run=${replay}
      show=${showReplay}
    >
      <p>
        The endpoint gets each event again whose delivery has failed, the oldest first, with all
        retries. It must ignore events that it has seen.
      </p>
      <${Field}
        label="Events since"
        name="since"
        type="datetime-local"
        required
        defaultValue=${localInput(new Date(Date.now() - DAY_MS))}
        hint="In your time zone."
      />
    <//>
  </p>`
}

/** @param {{ deliveries: number, has_more: boolean }} result */
const showReplay = ({ deliveries, has_more: hasMore }) =>
  html`<p>
    ${plural(deliveries, 'delivery', 'deliveries')} started again.
    ${hasMore && ' There may be more: replay once more.'}
  </p>`
